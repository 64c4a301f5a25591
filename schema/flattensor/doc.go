// Package flattensor reads and writes ExecuTorch's data files, the .ptd files:
// data with names, most of it the weights of programs that were exported without
// them.
//
// A .ptd file is a flatbuffer with the identifier "FT01", behind which an
// extended header "FH01" tells the extent of the flatbuffer and of the segments
// of data that follow it.
//
// Decode trusts nothing in the file and does not panic, and its time and memory
// are in proportion to the size of the flatbuffer. Segments are not read: a file
// may be mapped.
package flattensor

// Package bundled reads and writes bundled programs, the .bpte files: a program
// together with inputs for its methods and the outputs expected of them.
//
// A .bpte file is a flatbuffer with the identifier "BP08". The program in it is
// a .pte file as a whole, extended header and segments included.
//
// Decode trusts nothing in the file and does not panic, and its time and memory
// are in proportion to the size of the file.
package bundled

// Package program reads and writes ExecuTorch programs, the .pte files.
//
// A .pte file is a flatbuffer with the identifier "ET12". Many have an extended
// header behind the identifier, and segments of data behind the flatbuffer:
//
//	0  root offset, "ET12"
//	8  extended header, if there is one: "eh00", its length, the size of the
//	   flatbuffer, where segments begin, how long they are
//	   flatbuffer
//	   segments: constants, initial values, payloads of delegates, named data
//
// Decode gives a Program in which every index, offset and size has been checked,
// so that code behind it may use them as they are. It trusts nothing in the file
// and does not panic, and its time and memory are in proportion to the size of
// the flatbuffer. Segments are not read: a file may be mapped.
//
// What depends on operators is not checked here: whether they exist, and whether
// the arguments of instructions suit them.
package program

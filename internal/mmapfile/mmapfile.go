// Package mmapfile maps files into memory, to be read only.
//
// The bytes of a mapped file belong to the File: they are invalid after Close,
// and as the garbage collector does not know them, a slice of them does not
// keep the File open. To touch them after Close ends the process. So the owner
// of a File must know that nobody reads any more, and only then close it.
//
// The bytes are the file's, also when it changes: a writer is seen, and a file
// truncated while it is mapped makes reading beyond its new end a SIGBUS (on
// Windows an exception), which ends the process too. Where files may change
// under a program, [Read] takes a copy instead. To replace a file by renaming
// another over it is harmless.
package mmapfile

import (
	"fmt"
	"io"
	"math"
	"os"

	"github.com/etgo-ml/etgo/internal/errs"
)

// File is the contents of a file. Bytes may be called concurrently, Close only
// when nothing else is.
type File struct {
	data   []byte
	mapped bool // data is a mapping and not of Go's heap
}

// Open maps the file at path, as it is now: later growth does not show. Where
// the platform cannot map files (WebAssembly, Plan 9) it reads it as Read does.
//
// What cannot be opened, is no regular file or does not fit in memory is an
// error of class AccessFailed, which wraps the one of the operating system.
func Open(path string) (*File, error) {
	f, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // a mapping needs the file open only while it is made
	if size == 0 || !canMap {
		return read(f, size) // no system maps zero bytes
	}
	data, err := mmap(f, size)
	if err != nil {
		return nil, errs.AccessFailed.Errorf("map %s: %w", path, err)
	}
	return &File{data: data, mapped: true}, nil
}

// Read reads the file at path into Go's heap, at an address aligned as widely
// as any file format wants. The errors are those of Open.
func Read(path string) (*File, error) {
	f, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f, size)
}

// open opens a regular file and tells its size.
func open(path string) (*os.File, int, error) {
	// To open a FIFO waits for a writer, so look before.
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, errs.AccessFailed.Wrap(err)
	}
	if err := checkRegular(path, info); err != nil {
		return nil, 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, errs.AccessFailed.Wrap(err)
	}
	// What was opened need not be what was looked at.
	info, err = f.Stat()
	if err == nil {
		err = checkRegular(path, info)
	}
	if err == nil && info.Size() > math.MaxInt-alignment {
		err = fmt.Errorf("open %s: %d bytes are more than this platform addresses", path, info.Size())
	}
	if err != nil {
		f.Close()
		return nil, 0, errs.AccessFailed.Wrap(err)
	}
	return f, int(info.Size()), nil
}

func checkRegular(path string, info os.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return errs.AccessFailed.Errorf("open %s: is a directory", path)
	case !mode.IsRegular():
		return errs.AccessFailed.Errorf("open %s: is no regular file (mode %v)", path, mode)
	}
	return nil
}

// read reads the size bytes of f.
func read(f *os.File, size int) (*File, error) {
	data := alignedBytes(size)
	if _, err := io.ReadFull(f, data); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // shorter than it was said to be
		}
		return nil, errs.AccessFailed.Errorf("read %s: %w", f.Name(), err)
	}
	return &File{data: data}, nil
}

// Bytes returns the contents; nil after Close. They must not be written to: a
// mapping is write-protected, and to try ends the process.
func (f *File) Bytes() []byte { return f.data }

// Mapped tells whether the bytes are a mapping, rather than a copy in Go's
// heap.
func (f *File) Mapped() bool { return f.mapped }

// WillNeed tells the operating system that all of a mapping will be read soon,
// so that it can fetch it at once and not page by page. It does nothing where
// there is nothing to tell.
func (f *File) WillNeed() error {
	if !f.mapped {
		return nil
	}
	if err := willNeed(f.data); err != nil {
		return errs.AccessFailed.Errorf("advise that mapped bytes will be needed: %w", err)
	}
	return nil
}

// Close ends the mapping. It may be called more than once.
func (f *File) Close() error {
	data, mapped := f.data, f.mapped
	f.data, f.mapped = nil, false
	if !mapped {
		return nil
	}
	if err := munmap(data); err != nil {
		return errs.AccessFailed.Errorf("unmap file: %w", err)
	}
	return nil
}

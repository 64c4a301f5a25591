package mmapfile

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
)

var openers = []struct {
	name   string
	open   func(string) (*File, error)
	mapped bool
}{
	{"open", Open, canMap},
	{"read", Read, false},
}

func TestOpen(t *testing.T) {
	for _, o := range openers {
		for _, size := range []int{1, 63, 4096, 4097, 300000} {
			want := bytes.Repeat([]byte("etgo."), size/5+1)[:size]
			path := filepath.Join(t.TempDir(), "f")
			require.NoError(t, os.WriteFile(path, want, 0o600))

			f, err := o.open(path)
			require.NoError(t, err, o.name)
			assert.Equal(t, want, f.Bytes(), o.name)
			assert.Equal(t, size, cap(f.Bytes()), o.name)
			assert.Equal(t, o.mapped, f.Mapped(), o.name)
			assert.Zero(t, uintptr(unsafe.Pointer(&f.Bytes()[0]))%alignment, o.name)
			require.NoError(t, f.WillNeed(), o.name)
			require.NoError(t, f.Close(), o.name)
			assert.Nil(t, f.Bytes(), o.name)
			require.NoError(t, f.Close(), o.name)
			require.NoError(t, f.WillNeed(), o.name)
		}
	}
}

func TestOpenEmpty(t *testing.T) {
	for _, o := range openers {
		path := filepath.Join(t.TempDir(), "empty")
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		f, err := o.open(path)
		require.NoError(t, err, o.name)
		assert.NotNil(t, f.Bytes(), o.name)
		assert.Empty(t, f.Bytes(), o.name)
		assert.False(t, f.Mapped())
		require.NoError(t, f.WillNeed(), o.name)
		require.NoError(t, f.Close(), o.name)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	for _, o := range openers {
		_, err := o.open(filepath.Join(dir, "missing.pte"))
		require.ErrorIs(t, err, errs.AccessFailed, o.name)
		require.ErrorIs(t, err, fs.ErrNotExist, o.name)
		assert.ErrorContains(t, err, "missing.pte")
		var pathErr *fs.PathError
		assert.ErrorAs(t, err, &pathErr)

		_, err = o.open(dir)
		require.ErrorIs(t, err, errs.AccessFailed, o.name)
		assert.ErrorContains(t, err, dir+": is a directory")

		_, err = o.open(os.DevNull)
		require.ErrorIs(t, err, errs.AccessFailed, o.name)
		assert.Equal(t, errs.CodeAccessFailed, errs.CodeOf(err))
	}
}

// TestReadShort reads a file that became shorter than it was said to be.
func TestReadShort(t *testing.T) {
	for _, have := range []string{"", "abc"} {
		path := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(path, []byte(have), 0o600))
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		_, err = read(f, 10)
		require.ErrorIs(t, err, errs.AccessFailed)
		assert.ErrorContains(t, err, "unexpected EOF")
	}
}

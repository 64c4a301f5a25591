//go:build unix

package mmapfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/etgo-ml/etgo/internal/errs"
)

// TestOpenFIFO would hang if a FIFO were opened.
func TestOpenFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	for _, o := range openers {
		_, err := o.open(path)
		require.ErrorIs(t, err, errs.AccessFailed, o.name)
		assert.ErrorContains(t, err, "is no regular file", o.name)
	}
}

// TestMapOutlivesTheName replaces the file while it is mapped, as an update
// does.
func TestMapOutlivesTheName(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "f"), filepath.Join(dir, "g")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	require.NoError(t, os.WriteFile(other, []byte("new"), 0o600))
	f, err := Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, os.Rename(other, path))
	assert.Equal(t, "old", string(f.Bytes()))
}

func TestOpenUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0))
	_, err := Open(path)
	require.ErrorIs(t, err, errs.AccessFailed)
	require.ErrorIs(t, err, os.ErrPermission)
}

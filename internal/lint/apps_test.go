package lint

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// buildApp builds an application of testdata/apps, a module outside this one.
func buildApp(t *testing.T, name string) string {
	bin := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-mod=mod", "-o", bin, "./"+name)
	cmd.Dir = filepath.Join("..", "..", "testdata", "apps")
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return bin
}

// An operator written against the public API alone, in a module outside this one.
func TestOperatorOutsideTheModule(t *testing.T) {
	out, err := exec.Command(buildApp(t, "extop")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "[10 100 0]\n", string(out))
}

// An application links the operators that it registers and no others.
func TestSelectiveBuild(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads ELF symbols")
	}
	bin := buildApp(t, "selective")
	f, err := elf.Open(bin)
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	require.NoError(t, err)
	const kernels = "github.com/etgo-ml/etgo/kernels/portable."
	have := map[string]bool{}
	for _, s := range symbols {
		if name, ok := strings.CutPrefix(s.Name, kernels); ok {
			have[name] = true
		}
	}
	assert.Contains(t, have, "Add")
	assert.Contains(t, have, "Mul")
	for _, other := range []string{"Softmax", "Convolution", "Sum", "Cat", "Exp", "Gelu", "MaxPool2d", "NativeLayerNorm", "Register"} {
		assert.NotContains(t, have, other)
		for name := range have {
			assert.False(t, strings.HasPrefix(strings.ToLower(name), strings.ToLower(other)+"out"), "%s is linked", name)
		}
	}
	info, err := os.Stat(bin)
	require.NoError(t, err)
	t.Logf("an application with two operators has %.1f MB", float64(info.Size())/1e6)
	assert.Less(t, info.Size(), int64(8<<20))
}

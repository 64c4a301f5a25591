package main

import (
	"archive/zip"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/schema/bundled"
	"github.com/etgo-ml/etgo/schema/program"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// etrun runs the tool.
func etrun(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = doMain(args, strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), code
}

// mustRun runs the tool and wants it to succeed in silence.
func mustRun(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	stdout, stderr, code := etrun(args...)
	require.Empty(t, stderr)
	require.Equal(t, exitOK, code)
	return stdout
}

// mustFail runs the tool and wants it to fail with one line on stderr.
func mustFail(t *testing.T, code int, args ...string) (stderr string) {
	t.Helper()
	_, stderr, got := etrun(args...)
	require.Equal(t, code, got, stderr)
	require.Regexp(t, `^etrun: error 0x[0-9a-f]{2}: .+\n$`, stderr)
	require.Equal(t, 1, strings.Count(stderr, "\n"))
	return stderr
}

// workDir makes a new directory the current one and puts files of the golden
// cases into it.
func workDir(t *testing.T, files ...string) {
	t.Helper()
	z, err := zip.OpenReader("../../testdata/golden/ops.zip")
	require.NoError(t, err)
	defer z.Close()
	dir := t.TempDir()
	for _, f := range z.File {
		for _, name := range files {
			if path.Base(f.Name) == name {
				r, err := f.Open()
				require.NoError(t, err)
				b, err := io.ReadAll(r)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o666))
			}
		}
	}
	t.Chdir(dir)
	for _, name := range files {
		require.FileExists(t, name)
	}
}

// changeBundle rewrites a bundle.
func changeBundle(t *testing.T, from, to string, change func(*bundled.File)) {
	t.Helper()
	b, err := os.ReadFile(from)
	require.NoError(t, err)
	f, err := bundled.Decode(b)
	require.NoError(t, err)
	change(f)
	b, err = bundled.Encode(f)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, b, 0o666))
}

// changeProgram rewrites the program of a bundle as a .pte file.
func changeProgram(t *testing.T, from, to string, change func(*program.Program)) {
	t.Helper()
	b, err := os.ReadFile(from)
	require.NoError(t, err)
	f, err := bundled.Decode(b)
	require.NoError(t, err)
	p, err := program.Decode(f.Program)
	require.NoError(t, err)
	change(p)
	b, err = program.Encode(p)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, b, 0o666))
}

// renameOperators lets a program call operators that nobody has.
func renameOperators(p *program.Program) {
	for i := range p.Plans {
		for k := range p.Plans[i].Operators {
			p.Plans[i].Operators[k].Name = fmt.Sprintf("test::missing%d", k)
		}
	}
}

// TestTranscripts runs the commands in testdata/*.txt, the lines that start with
// "$ etrun", and compares what they print. -update takes what they print over.
func TestTranscripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	for _, script := range scripts {
		script, err := filepath.Abs(script)
		require.NoError(t, err)
		t.Run(strings.TrimSuffix(filepath.Base(script), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(script)
			require.NoError(t, err)
			prepare(t)
			got := transcribe(string(want))
			if *update {
				require.NoError(t, os.WriteFile(script, []byte(got), 0o666))
				return
			}
			require.Equal(t, string(want), got)
		})
	}
}

// prepare makes the files that transcripts use.
func prepare(t *testing.T) {
	workDir(t, "add__channels_last.bpte", "prog_in_none.bpte", "prog_in_int.bpte", "prog_out_prims.bpte", "prog_state_names.bpte",
		"prog_state_multi_method.bpte", "prog_stateinit_ptd.bpte", "prog_stateinit_ptd.ptd", "add__f32.bpte")
	changeProgram(t, "add__f32.bpte", "missing.pte", renameOperators)
	changeBundle(t, "add__f32.bpte", "wrong.bpte", func(f *bundled.File) {
		f.Suites[0].Cases[0].Outputs[0].Tensor.Data[3] ^= 1
	})
	require.NoError(t, os.WriteFile("notes.txt", []byte("hello, world\n"), 0o666))
	require.NoError(t, os.WriteFile("calls.json",
		[]byte(`{"calls": [{"method": "forward"}, {"method": "forward", "outputs": "second.npz"}, {}]}`), 0o666))
}

// transcribe runs the commands of a transcript.
func transcribe(script string) string {
	var b strings.Builder
	for line := range strings.Lines(script) {
		command, ok := strings.CutPrefix(line, "$ etrun ")
		if !ok {
			continue
		}
		stdout, stderr, code := etrun(strings.Fields(command)...)
		fmt.Fprintf(&b, "$ etrun %s%s%s", command, stdout, stderr)
		if code != exitOK {
			fmt.Fprintf(&b, "[exit %d]\n", code)
		}
	}
	return b.String()
}

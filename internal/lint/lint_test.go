package lint

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/etgo-ml/etgo"

// allowed says, for each package of the project by its path below the root, what
// else of the project it may import. The longest matching prefix counts. A
// trailing slash stands for everything below.
var allowed = map[string][]string{
	"":                  {"module", "runtime", "memory", "tensor", "kernels/", "backend/", "schema/"},
	"cmd/etrun":         {"", "module", "runtime", "memory", "tensor", "schema", "schema/", "llm/", "devtools/", "internal/", "cmd/etrun/internal/"},
	"docs/gen":          {""},
	"devtools":          {"devtools/", "module", "runtime", "memory", "tensor", "schema", "schema/", "internal/"},
	"llm":               {"module", "runtime", "memory", "tensor", "internal/"},
	"module":            {"runtime", "memory", "tensor", "internal/"},
	"kernels":           {"runtime", "memory", "tensor", "kernels/internal/", "internal/"},
	"backend":           {"runtime", "memory", "tensor", "schema", "schema/", "internal/"},
	"runtime":           {"memory", "tensor", "schema", "schema/", "internal/"},
	"memory":            {"internal/"},
	"tensor":            {"internal/"},
	"schema":            {"schema", "schema/internal/", "internal/"},
	"internal":          {"internal/"},
	"internal/lint":     {},
	"internal/errs":     {},
	"internal/parallel": {},
	"internal/mmapfile": {"internal/errs"},
}

// lean are the packages that depend on flatbuffers and x/sys alone.
var lean = []string{"runtime", "kernels", "backend", "module", "memory", "tensor", "schema", "internal"}

type file struct {
	pkg     string // below the root, "" for the root package
	name    string
	imports []string
}

// sources returns the project's Go files without tests.
func sources(t *testing.T) []file {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	var files []file
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && rel != "." {
				return filepath.SkipDir
			}
			// A folder with a go.mod of its own is another module.
			if rel != "." {
				if matches, _ := filepath.Glob(filepath.Join(p, "go.mod")); len(matches) > 0 {
					return filepath.SkipDir
				}
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		ast, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		f := file{pkg: path.Dir(rel), name: rel}
		if f.pkg == "." {
			f.pkg = ""
		}
		for _, imp := range ast.Imports {
			v, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, v)
		}
		files = append(files, f)
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func rule(pkg string) (prefix string, allow []string) {
	for p := pkg; ; p = path.Dir(p) {
		if p == "." {
			p = ""
		}
		if a, ok := allowed[p]; ok && (p != "" || pkg == "") {
			return p, a
		}
		if p == "" {
			return "", nil
		}
	}
}

func TestImportDirection(t *testing.T) {
	for _, f := range sources(t) {
		prefix, allow := rule(f.pkg)
		if allow == nil && f.pkg != "" {
			if _, ok := allowed[prefix]; !ok {
				t.Errorf("%s: package %s has no rule; add it to allowed", f.name, f.pkg)
				continue
			}
		}
		for _, imp := range f.imports {
			rel, ok := strings.CutPrefix(imp, module)
			if !ok {
				continue
			}
			rel = strings.TrimPrefix(rel, "/")
			if !permitted(f.pkg, rel, allow) {
				t.Errorf("%s may not import %s", f.name, imp)
			}
		}
	}
}

func permitted(pkg, imp string, allow []string) bool {
	for _, a := range allow {
		if imp == a || strings.HasSuffix(a, "/") && strings.HasPrefix(imp, a) {
			// What one kernel family has is not for another.
			if family, ok := strings.CutPrefix(imp, "kernels/"); ok && strings.HasPrefix(pkg, "kernels/") {
				return strings.HasPrefix(family, "internal/")
			}
			return true
		}
	}
	return false
}

func TestLeanDependencies(t *testing.T) {
	for _, f := range sources(t) {
		top, _, _ := strings.Cut(f.pkg, "/")
		if !contains(lean, top) || f.pkg == "internal/valuefile" {
			continue
		}
		for _, imp := range f.imports {
			if !strings.Contains(strings.Split(imp, "/")[0], ".") || strings.HasPrefix(imp, module) {
				continue
			}
			if !strings.HasPrefix(imp, "github.com/google/flatbuffers/") && !strings.HasPrefix(imp, "golang.org/x/sys/") {
				t.Errorf("%s imports %s; %s depends on flatbuffers and x/sys alone", f.name, imp, top)
			}
		}
	}
}

func TestUnsafeIsNamed(t *testing.T) {
	for _, f := range sources(t) {
		if !contains(f.imports, "unsafe") {
			continue
		}
		base := path.Base(f.name)
		if !strings.Contains(base, "unsafe") && !strings.Contains(base, "asm") && !strings.Contains(base, "mmap") &&
			!strings.HasPrefix(f.pkg, "internal/mmapfile") && !strings.HasPrefix(f.pkg, "internal/ukernel") {
			t.Errorf("%s uses unsafe; its name should say so", f.name)
		}
	}
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

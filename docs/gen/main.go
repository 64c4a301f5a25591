// Command gen writes docs/operators.md: the operators that package etgo
// registers, with what their documentation in the source says, the dtypes of their
// golden cases, and where they differ from ExecuTorch. It is run by "go generate"
// in the root of the project.
package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/etgo-ml/etgo"
)

// entry is what is known of an operator.
type entry struct {
	name     string
	family   string // package and file
	variable string
	synopsis string
	dtypes   map[string]bool
	cases    int
	differs  []string
}

func main() {
	log.SetFlags(0)
	entries := map[string]*entry{}
	for _, name := range etgo.Registry().Operators() {
		entries[name] = &entry{name: name, dtypes: map[string]bool{}}
	}
	check(readSources(entries))
	check(readGoldens(entries))
	page, err := render(entries)
	check(err)
	check(os.WriteFile("docs/operators.md", page, 0o644))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// readSources finds the variable of each operator and its doc comment.
func readSources(entries map[string]*entry) error {
	dirs, err := filepath.Glob("kernels/*")
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return err
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			family := filepath.Base(dir) + "/" + strings.TrimSuffix(filepath.Base(path), ".go")
			for _, decl := range file.Decls {
				if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.VAR {
					readVars(entries, g, family)
				}
			}
		}
	}
	for _, e := range entries {
		if e.variable == "" {
			return fmt.Errorf("no variable in kernels/ registers %s", e.name)
		}
	}
	return nil
}

func readVars(entries map[string]*entry, g *ast.GenDecl, family string) {
	for _, spec := range g.Specs {
		v := spec.(*ast.ValueSpec)
		text := v.Doc.Text()
		if text == "" {
			text = g.Doc.Text()
		}
		for _, value := range v.Values {
			ast.Inspect(value, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				s, err := strconv.Unquote(lit.Value)
				if err != nil {
					return true
				}
				name, _, _ := strings.Cut(s, "(")
				if e := entries[name]; e != nil {
					e.family, e.variable = family, v.Names[0].Name
					e.synopsis = synopsis(text)
				}
				return true
			})
		}
	}
}

// synopsis is the first sentence of a doc comment without its subject.
func synopsis(text string) string {
	s := new(doc.Package).Synopsis(text)
	// "Add is aten::add: self plus other" begins with what the first column says.
	s = subject.ReplaceAllString(s, "")
	return strings.ReplaceAll(s, "|", `\|`)
}

var subject = regexp.MustCompile(`^\w+ (is|are) [\w:]+( and [^:,]*)?[:,] `)

// readGoldens counts the golden cases of each operator.
func readGoldens(entries map[string]*entry) error {
	reasons := map[string]string{}
	var list []struct{ Name, Reason string }
	b, err := os.ReadFile("testdata/deviations.json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	for _, d := range list {
		reasons[d.Name] = d.Reason
	}
	archives, err := filepath.Glob("testdata/golden/*.zip")
	if err != nil {
		return err
	}
	for _, path := range archives {
		if err := readArchive(entries, path, reasons); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func readArchive(entries map[string]*entry, path string, reasons map[string]string) error {
	z, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if filepath.Base(f.Name) != "cases.jsonl" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return err
		}
		b, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(bytes.NewReader(b))
		for lines.Scan() {
			var c struct {
				Name       string
				Op, Dtypes []string
			}
			if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
				return err
			}
			for _, op := range c.Op {
				e := entries[op]
				if e == nil {
					continue
				}
				e.cases++
				// A program of several operators does not tell which has which type.
				if len(c.Op) == 1 {
					for _, d := range c.Dtypes {
						e.dtypes[d] = true
					}
				}
				if reason := reasons[c.Name]; reason != "" && len(c.Op) == 1 && !slices.Contains(e.differs, reason) {
					e.differs = append(e.differs, reason)
				}
			}
		}
		if err := lines.Err(); err != nil {
			return err
		}
	}
	return nil
}

// order is that in which dtypes are listed.
var order = []string{"bool", "u8", "i8", "i16", "i32", "i64", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "c32", "c64", "c128"}

func render(entries map[string]*entry) ([]byte, error) {
	intro, err := os.ReadFile("docs/gen/operators_intro.md")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("<!-- Written by docs/gen; run \"go generate\" in the root. -->\n\n")
	b.Write(intro)
	fmt.Fprintf(&b, "\n%d operators.\n", len(entries))
	byPackage := map[string][]*entry{}
	for _, e := range entries {
		pkg, _, _ := strings.Cut(e.family, "/")
		byPackage[pkg] = append(byPackage[pkg], e)
	}
	for _, pkg := range slices.Sorted(maps.Keys(byPackage)) {
		list := byPackage[pkg]
		slices.SortFunc(list, func(a, b *entry) int { return strings.Compare(a.name, b.name) })
		fmt.Fprintf(&b, "\n## kernels/%s\n\n| operator | computes | dtypes of its golden cases | cases | family |\n|---|---|---|---|---|\n", pkg)
		for _, e := range list {
			var types []string
			for _, d := range order {
				if e.dtypes[d] {
					types = append(types, d)
				}
			}
			_, family, _ := strings.Cut(e.family, "/")
			fmt.Fprintf(&b, "| `%s` | %s | %s | %d | %s.%s |\n", e.name, e.synopsis, strings.Join(types, " "), e.cases, family, e.variable)
		}
	}
	b.WriteString("\n## Where results differ from ExecuTorch's\n\nEach line is a case that `testdata/deviations.json` lists.\n\n| operator | why |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		for _, reason := range entries[name].differs {
			fmt.Fprintf(&b, "| `%s` | %s |\n", name, strings.ReplaceAll(reason, "|", `\|`))
		}
	}
	return b.Bytes(), nil
}

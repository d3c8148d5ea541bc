package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module   = "routerd"
	maxLines = 600
)

// allowed says which packages of ours a folder may import, itself excepted. The
// longest matching folder counts; those with nil may import all.
var allowed = map[string][]string{
	"config":    {},
	"nmring":    {},
	"fib":       {},
	"dataplane": {"nmring", "fib"},
	"platform":  {"nmring"},
	"control":   {"fib", "config"},
	"etc":       nil,
	"cmd":       nil,
	"test":      nil,
}

type pkg struct {
	ImportPath string
	Dir        string
	Deps       []string
}

// packages lists the module's packages for both systems, once each.
func packages(t *testing.T) []pkg {
	t.Helper()
	var all []pkg
	for _, system := range []string{"linux", "freebsd"} {
		cmd := exec.Command("go", "list", "-e", "-deps=false", "-json=ImportPath,Dir,Deps", module+"/...")
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p pkg
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
	}
	return all
}

func folderOf(importPath string) (string, bool) {
	rel := strings.TrimPrefix(importPath, module+"/")
	for folder := rel; folder != "."; folder = path.Dir(folder) {
		if _, ok := allowed[folder]; ok {
			return folder, true
		}
	}
	return rel, false
}

func TestImportsFlowOneWay(t *testing.T) {
	for _, p := range packages(t) {
		if p.ImportPath == module {
			continue
		}
		from, known := folderOf(p.ImportPath)
		if !known {
			t.Errorf("%s: folder is not in the design's layout", p.ImportPath)
			continue
		}
		if allowed[from] == nil {
			continue
		}
		for _, dep := range p.Deps {
			if !strings.HasPrefix(dep, module+"/") {
				continue
			}
			if to, _ := folderOf(dep); to != from && !slices.Contains(allowed[from], to) {
				t.Errorf("%s depends on %s; %s may know only %q", p.ImportPath, dep, from, allowed[from])
			}
		}
	}
}

// file is one Go file of the module.
type file struct {
	path   string // relative to the module, with slashes
	source []byte
	syntax *ast.File
}

func files(t *testing.T) []file {
	t.Helper()
	root := filepath.Join("..", "..")
	var all []file
	err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		all = append(all, file{filepath.ToSlash(rel), source, syntax})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (f file) imports(name string) bool {
	return slices.ContainsFunc(f.syntax.Imports, func(i *ast.ImportSpec) bool {
		p, _ := strconv.Unquote(i.Path.Value)
		return p == name
	})
}

func TestUnsafeAndSystemCallsHaveTheirPlaces(t *testing.T) {
	for _, f := range files(t) {
		marked := strings.HasSuffix(f.path, "_unsafe.go") || strings.HasSuffix(f.path, "_unsafe_test.go")
		if f.imports("unsafe") && !marked {
			t.Errorf("%s imports unsafe; only files named *_unsafe.go may", f.path)
		}
		if f.imports("golang.org/x/sys/unix") && !marked && !strings.HasPrefix(f.path, "platform/") {
			t.Errorf("%s imports golang.org/x/sys/unix; only platform/ and files named *_unsafe.go may", f.path)
		}
		if f.imports("C") {
			t.Errorf("%s needs cgo", f.path)
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	commented := map[string]bool{}
	for _, f := range files(t) {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		dir := path.Dir(f.path)
		commented[dir] = commented[dir] || f.syntax.Doc != nil
	}
	for dir, ok := range commented {
		if !ok {
			t.Errorf("%s: no package comment", dir)
		}
	}
}

func TestFilesStayShort(t *testing.T) {
	for _, f := range files(t) {
		if lines := bytes.Count(f.source, []byte("\n")); lines > maxLines {
			t.Errorf("%s has %d lines, more than %d", f.path, lines, maxLines)
		}
	}
}

// Written in pieces, so that this file does not break its own rules.
var (
	machinePath = regexp.MustCompile(`["'\x60 (]/(wo` + `rk|ro` + `ot|fa` + `rm|ho` + `me)/`)
	unfinished  = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
)

func TestNoMachinePathsNorUnfinishedPlaces(t *testing.T) {
	for _, f := range files(t) {
		for _, re := range []*regexp.Regexp{machinePath, unfinished} {
			if at := re.FindIndex(f.source); at != nil {
				line := 1 + bytes.Count(f.source[:at[0]], []byte("\n"))
				t.Errorf("%s:%d: %s", f.path, line, f.source[at[0]:at[1]])
			}
		}
	}
}

func TestTestsDoNotSleep(t *testing.T) {
	for _, f := range files(t) {
		if !strings.HasSuffix(f.path, "_test.go") && !strings.HasPrefix(f.path, "test/") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if ok && call.Sel.Name == "Sleep" {
				if x, ok := call.X.(*ast.Ident); ok && x.Name == "time" {
					t.Errorf("%s calls time.Sleep; wait for the event instead", f.path)
				}
			}
			return true
		})
	}
}

// Command stats reports the size of the code against the budget that
// ARCHITECTURE.md states: functions of a median of 12 lines, 40 at the 90th
// and 80 at the 99th percentile, four parameters, files of 600 lines. It
// reports; people decide.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"path/filepath"
	"slices"
	"strings"
)

// function is one measured function.
type function struct {
	name              string
	lines, parameters int
}

func main() {
	var functions []function
	var large []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		found, lines, err := measure(path)
		functions = append(functions, found...)
		if lines > 600 {
			large = append(large, fmt.Sprintf("%s: %d lines", path, lines))
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	report(functions, large)
}

func measure(path string) ([]function, int, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		return nil, 0, err
	}
	var list []function
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			lines := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1
			list = append(list, function{path + ":" + fn.Name.Name, lines, fn.Type.Params.NumFields()})
		}
	}
	return list, set.Position(f.End()).Line, nil
}

func report(functions []function, large []string) {
	slices.SortFunc(functions, func(a, b function) int { return b.lines - a.lines })
	at := func(share float64) int { return functions[int(float64(len(functions)-1)*(1-share))].lines }
	fmt.Printf("%d functions: median %d lines, p90 %d, p99 %d\n", len(functions), at(0.5), at(0.9), at(0.99))
	for _, f := range functions[:min(5, len(functions))] {
		fmt.Printf("  %4d lines %s\n", f.lines, f.name)
	}
	for _, f := range functions {
		if f.parameters > 4 {
			fmt.Printf("  %d parameters: %s\n", f.parameters, f.name)
		}
	}
	for _, l := range large {
		fmt.Println("  large file", l)
	}
}

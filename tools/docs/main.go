// Command docs writes what can be written from the code itself:
// docs/language.md, the reference of the job language, from the tables that
// decode it, docs/capabilities.md, what each framework version can do, from the
// table of package backends/capability, docs/diagnostics.md, the index of
// diagnostics, from the ids.go of every package, docs/lint.md, the rules of ndc
// lint with their examples, docs/job.schema.json, what job.json holds, from the
// types that write it, and the pictures of plans that README.md and the pages on
// memory and time show, docs/schedules.svg among them. With -check it only
// compares. It runs at the top of the repository:
//
//	go run ./tools/docs
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
)

const (
	languagePath     = "docs/language.md"
	capabilitiesPath = "docs/capabilities.md"
	diagnosticsPath  = "docs/diagnostics.md"
	lintPath         = "docs/lint.md"
)

func main() {
	check := flag.Bool("check", false, "fail if the file is not up to date, and write nothing")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	index, err := diagnosticsIndex(os.DirFS("."))
	if err != nil {
		return err
	}
	if err := write(languagePath, reference(), check); err != nil {
		return err
	}
	if err := write(capabilitiesPath, capabilities(), check); err != nil {
		return err
	}
	if err := write(diagnosticsPath, index, check); err != nil {
		return err
	}
	rules, err := lintPage(os.DirFS("."))
	if err != nil {
		return err
	}
	if err := write(lintPath, rules, check); err != nil {
		return err
	}
	recorded, err := recordSchema(os.DirFS("."))
	if err != nil {
		return err
	}
	if err := write(recordPath, recorded, check); err != nil {
		return err
	}
	for _, d := range drawings {
		drawn, err := draw(os.DirFS("."), d.example, d.kind)
		if err != nil {
			return err
		}
		if err := write(d.path, drawn, check); err != nil {
			return err
		}
	}
	return write(schedulesPath, schedules(), check)
}

// write writes a file, or compares it.
func write(path string, want []byte, check bool) error {
	if !check {
		return os.WriteFile(path, want, 0o644)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s is not up to date; run go run ./tools/docs", path)
	}
	return nil
}

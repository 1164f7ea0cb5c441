package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/compiler"
	"github.com/ndc-dev/ndc/compiler/plan"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/output"
	"github.com/ndc-dev/ndc/view/picture"
)

// graphFlags are those of `ndc graph` alone.
type graphFlags struct {
	inputFlags
	kind, out string
	force     bool
}

func newGraph(stdout, stderr io.Writer) *cobra.Command {
	var flags graphFlags
	c := &cobra.Command{
		Use: "graph FILE|DIR", Short: "Draw the plans: step, memory, timeline, mesh, and more", Args: takes(1, 1, "one FILE or DIR"),
		Long: `Plan as ndc plan does and draw each plan. The kinds of pictures are:

` + kindsHelp() + `
With -o a FOLDER, it gets JOB-BACKEND.svg of every plan (JOB-BACKEND-KIND.svg with
--kind). With -o a name that ends in .svg, .html, .json or .txt, one plan is drawn
into that file; the JSON of a timeline is a trace that Perfetto and chrome://tracing
open. With --kind and without -o, the picture is drawn with letters on the
terminal. With --json and without -o, its data are printed.`,
		RunE: func(c *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, flags.json)
			kind := picture.Find(flags.kind)
			if kind == nil {
				return wrongUsage(c, "--kind is %s, not %q.%s", diag.OneOf(picture.Names()), flags.kind, diag.DidYouMean(flags.kind, picture.Names()))
			}
			plans, err := planAll(t, args[0], &flags.inputFlags)
			if err != nil {
				return err
			}
			if !t.json {
				t.diagnostics(jobWarnings(plans.list), t.files)
			}
			if (t.json || c.Flags().Changed("kind")) && !c.Flags().Changed("output") {
				return printPictures(t, kind, plans.list)
			}
			return writePictures(c, t, kind, plans.list, &flags)
		},
	}
	flags.register(c)
	c.Flags().StringVarP(&flags.out, "output", "o", ".", "folder, or one file .svg, .html, .json or .txt")
	c.Flags().StringVar(&flags.kind, "kind", picture.Kinds[0].Name, "what to draw: "+strings.Join(picture.Names(), ", "))
	c.Flags().BoolVar(&flags.force, "force", false, "replace pictures that are there")
	return c
}

func kindsHelp() string {
	var b strings.Builder
	for i := range picture.Kinds {
		fmt.Fprintf(&b, "  %-10s %s\n", picture.Kinds[i].Name, picture.Kinds[i].Doc)
	}
	return b.String()
}

// subjects are the feasible plans, to be drawn.
func subjects(list []*compiled) []*picture.Subject {
	var some []*picture.Subject
	for _, c := range list {
		if c.plan.Feasible {
			some = append(some, c.subject())
		}
	}
	return some
}

// subject is a plan with what answers questions about it.
func (c *compiled) subject() *picture.Subject {
	detail := compiler.NewDetail(c.job, c.target, c.plan)
	return &picture.Subject{Job: c.job.Folder, Plan: c.plan, Details: detail, Layouts: func() []plan.Assessed {
		list, err := detail.Layouts(signals.context())
		if err != nil {
			signals.wait()
		}
		return list
	}, Sizes: func() []*plan.Plan { return sizes(c.asked, false) }}
}

// printPictures draws on the terminal.
func printPictures(t *terminal, kind *picture.Kind, list []*compiled) error {
	for i, s := range subjects(list) {
		if t.json {
			if err := t.printJSON(kind.Data(s)); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			fmt.Fprintln(t.out)
		}
		if err := t.print(kind.Text(s)); err != nil {
			return err
		}
	}
	return nil
}

// writePictures writes a file of each plan into the folder, or the one file.
func writePictures(c *cobra.Command, t *terminal, kind *picture.Kind, list []*compiled, flags *graphFlags) error {
	f, out := output.Folder{Path: "."}, flags.out
	some := subjects(list)
	ext := strings.ToLower(filepath.Ext(out))
	if foreignFormat.MatchString(ext) && pictureFormats[ext] == nil && !isFolder(out) {
		return wrongUsage(c, "-o %s names a file, and pictures end in .svg, .html, .json or .txt. A folder of that name is written %s/.", out, out)
	}
	if pictureFormats[ext] != nil {
		if len(some) != 1 {
			return wrongUsage(c, "-o %s is one file, and %d plans are feasible. Choose one with --job, --backend and --site, or give a folder.", out, len(some))
		}
		f.Files = append(f.Files, output.File{Path: filepath.Base(out), Content: pictureFormats[ext](kind, some[0])})
		out = filepath.Dir(out)
	} else {
		for _, s := range some {
			name := strings.ReplaceAll(s.Job, "/", "-") + "-" + s.Plan.Backend
			if c.Flags().Changed("kind") {
				name += "-" + kind.Name
			}
			f.Files = append(f.Files, output.File{Path: name + ".svg", Content: kind.SVG(s)})
		}
	}
	return putFiles(t, out, f, flags.force)
}

// putFiles writes files into a folder and tells their names.
func putFiles(t *terminal, folder string, f output.Folder, force bool) error {
	_, diags := write(folder, func(*output.Output) []output.Folder { return []output.Folder{f} }, nil, force, nil)
	orElsewhere(diags)
	t.diagnostics(diags, nil)
	if diags.HasErrors() {
		return exitError(exitInput)
	}
	names := []string{}
	for _, file := range f.Files {
		names = append(names, filepath.Join(folder, file.Path))
	}
	if t.json {
		return t.printJSON(map[string][]string{"files": names})
	}
	text := ""
	for _, name := range names {
		text += inLine(name) + "\n"
	}
	return t.print(text)
}

// foreignFormat is the end of a name that is a file's, such as .png; folders have
// versions and dates at theirs.
var foreignFormat = regexp.MustCompile(`^\.[a-z]{2,5}$`)

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// pictureFormats make a file of a picture, by the end of its name.
var pictureFormats = map[string]func(*picture.Kind, *picture.Subject) []byte{
	".svg":  (*picture.Kind).SVG,
	".html": (*picture.Kind).HTML,
	".json": func(k *picture.Kind, s *picture.Subject) []byte { return mustJSON(k.Data(s)) },
	".txt":  func(k *picture.Kind, s *picture.Subject) []byte { return []byte(k.Text(s)) },
}

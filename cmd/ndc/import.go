package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ndc-dev/ndc/intake"
	"github.com/ndc-dev/ndc/intake/draft"
)

func newImport(stdout, stderr io.Writer) *cobra.Command {
	var o intake.Options
	var out string
	var force, asJSON bool
	c := &cobra.Command{
		Use: "import FILE... [-- ARGUMENT...]", Short: "Make a job of the files that a run is launched with today",
		Args: func(c *cobra.Command, args []string) error {
			files, _ := behindDash(c, args)
			return takes(1, 100, "FILES")(c, files)
		},
		Long: `Read the config.json of a Hugging Face model, scripts for bash and sbatch that
launch Megatron-LM, its recipes (YAML), and configurations of TorchTitan (TOML, or
the JSON that it prints of its Python), DeepSpeed (JSON, or YAML of accelerate) and
Megatron-Bridge (YAML, or a log that has it), and write a job in the language.
Several files describe one job together. What the files do not say becomes a
variable without a default; what ndc cannot say is listed, line by line, and
nothing is guessed. No file is executed. ARGUMENTs are those that the first script is called with, $1 and so on.

The job goes to standard output, the report of every setting to standard error:
mapped to an argument of the job, passed on to the framework, left out because
a job has nothing to say of it, or not understood.`,
		RunE: func(c *cobra.Command, args []string) error {
			t := newTerminal(stdout, stderr, asJSON)
			args, o.Arguments = behindDash(c, args)
			if c.Flags().Changed("nodes") && o.Nodes < 1 || c.Flags().Changed("gpus") && o.GPUs < 1 {
				return wrongUsage(c, "Nodes and GPUs are counted from 1.")
			}
			files, err := readImports(args)
			if err != nil {
				return err
			}
			result, diags := intake.Import(files, o)
			t.diagnostics(diags, nil)
			if diags.HasErrors() {
				return exitError(exitInput)
			}
			if err := t.importedJob(out, force, result.Job); err != nil {
				return err
			}
			t.findings(result)
			return nil
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "file to write the job to (default: standard output)")
	c.Flags().BoolVar(&force, "force", false, "replace the file")
	c.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON, one line for each setting")
	c.Flags().StringVar(&o.Job, "name", "", "the job's name (default: as the files say)")
	c.Flags().StringVar(&o.Backend, "backend", "", "the framework, when no file is for one (default megatron)")
	c.Flags().StringVar(&o.Version, "backend-version", "", "the framework's version (default: the newest that knows every option)")
	c.Flags().StringVar(&o.Cluster, "cluster", "", "the cluster, by its name in the catalogue (default: a variable)")
	c.Flags().IntVar(&o.Nodes, "nodes", 0, "nodes of the run (default: as the files say, or a variable)")
	c.Flags().IntVar(&o.GPUs, "gpus", 0, "GPUs of a node (default: as the files or the cluster say)")
	return c
}

// behindDash splits arguments at --; without one, the second list is nil.
func behindDash(c *cobra.Command, args []string) (before, behind []string) {
	if n := c.ArgsLenAtDash(); n >= 0 {
		return args[:n], append([]string{}, args[n:]...)
	}
	return args, nil
}

func readImports(names []string) ([]intake.File, error) {
	var files []intake.File
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			return nil, usageError(fmt.Sprintf("%s is a folder. Name the files in it that say how the run is launched, such as its script, and the configuration that the script names.", name))
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", name, cause(err))
		}
		content, err := io.ReadAll(io.LimitReader(f, intake.MaxBytes+1))
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", name, cause(err))
		}
		if len(content) > intake.MaxBytes {
			return nil, fmt.Errorf("%s cannot be read: it has more than %d MiB", name, intake.MaxBytes>>20)
		}
		files = append(files, intake.File{Name: filepath.ToSlash(name), Content: content})
	}
	return files, nil
}

// importedJob writes the job where it was asked for; a file that is there stays
// unless forced.
func (t *terminal) importedJob(out string, force bool, content []byte) error {
	if out == "" {
		_, err := t.out.Write(content)
		return err
	}
	if _, err := os.Lstat(out); err == nil && !force {
		return fmt.Errorf("%s is there already; --force replaces it", out)
	}
	if err := hasFolder(out); err != nil {
		return err
	}
	if err := saveFile(out, content); err != nil {
		return fmt.Errorf("%s cannot be written: %w", out, cause(err))
	}
	return nil
}

// findings reports what became of every setting: all of them for programs, and
// for people those that need a look.
func (t *terminal) findings(r *intake.Result) {
	if t.json {
		for _, f := range r.Findings {
			t.line(f)
		}
		return
	}
	count := map[draft.Verdict]int{}
	for _, f := range r.Findings {
		count[f.Verdict]++
	}
	for _, v := range []draft.Verdict{draft.Unknown, draft.Passed} {
		for _, f := range r.Findings {
			if f.Verdict == v {
				fmt.Fprintf(t.err, "%s:%d: %s: %s%s\n", shown(f.File), f.Line, f.Verdict, shown(strings.TrimSpace(f.Name+" "+f.Value)), because(f.Why))
			}
		}
	}
	if r.Model != "" {
		fmt.Fprintf(t.err, "The model is catalog.model.%s.\n", r.Model)
	}
	fmt.Fprintf(t.err, "%d settings: %d mapped, %d passed on, %d left out, %d not understood.\n",
		len(r.Findings), count[draft.Mapped], count[draft.Passed], count[draft.Left], count[draft.Unknown])
	if len(r.Open) > 0 {
		fmt.Fprintf(t.err, "Set these variables, which no file says: %s.\n", strings.Join(r.Open, ", "))
	}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// hasFolder reports that the folder of a file to be written is not there. A file that is
// kept beside jobs belongs into a folder that is, so that its name is more likely a mistake.
func hasFolder(file string) error {
	if folder := filepath.Dir(file); !isFolder(folder) {
		return usageError(fmt.Sprintf("%s cannot be written: there is no folder %s. Make it, or choose another with -o.", file, folder))
	}
	return nil
}

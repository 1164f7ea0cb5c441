//go:build slurm

package slurm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// emitted writes what ndc emits for every example and every case of
// testdata/build, and the golden files of the emitters, into folders of their
// own, and lists those that hold scripts.
func emitted(t *testing.T) []string {
	t.Helper()
	root := filepath.Join(here.Folder, "emitted")
	jobs, _ := filepath.Glob("../../examples/*/job.hcl")
	for _, path := range jobs {
		buildAll(t, path, filepath.Join(root, "examples", filepath.Base(filepath.Dir(path))))
	}
	cases, _ := filepath.Glob("../../testdata/build/*.txtar")
	for _, path := range cases {
		folder := filepath.Join(root, "cases", filepath.Base(path))
		unpack(t, path, folder)
		buildAll(t, filepath.Join(folder, "job.hcl"), filepath.Join(folder, "out"))
	}
	goldens, _ := filepath.Glob("../../backends/*/testdata/*.txtar")
	for _, path := range goldens {
		unpack(t, path, filepath.Join(root, "goldens", filepath.Base(filepath.Dir(filepath.Dir(path))), filepath.Base(path)))
	}
	if len(jobs) == 0 || len(cases) == 0 || len(goldens) == 0 {
		t.Fatalf("%d examples, %d cases, %d golden files", len(jobs), len(cases), len(goldens))
	}
	var folders []string
	must(t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if filepath.Base(path) == "launch.sh" && !strings.Contains(path, "/cases/") || strings.HasSuffix(path, ".sbatch") {
			folders = append(folders, filepath.Dir(path))
		}
		return err
	}))
	slices.Sort(folders)
	return slices.Compact(folders)
}

// buildAll builds a job for all its backends; one that does not fit (exit code
// 2) has no scripts.
func buildAll(t *testing.T, path, out string) {
	t.Helper()
	cmd := exec.Command(here.NDC, "build", path, "-o", out)
	if text, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("%s: %v\n%s", path, err, text)
	}
}

// unpack writes the files of an archive.
func unpack(t *testing.T, path, folder string) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	must(t, err)
	for _, f := range archive.Files {
		name := filepath.Join(folder, filepath.FromSlash(f.Name))
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, f.Data, 0o755))
	}
}

var (
	partition   = regexp.MustCompile(`(?m)^#SBATCH --partition=(.*)$`)
	reservation = regexp.MustCompile(`(?m)^#SBATCH --reservation=(.*)$`)
	segment     = regexp.MustCompile(`(?m)^#SBATCH --segment=.*\n`)
)

// scriptsAreAccepted submits every emitted script as it stands, without
// running it, to a Slurm with nodes, partitions and reservations enough.
func scriptsAreAccepted(t *testing.T, c *cluster, folders []string) {
	help := c.do(t, "sbatch --help")
	accepted, rejected, cut := 0, 0, 0
	made := map[string]bool{}
	for _, folder := range folders {
		scripts, _ := filepath.Glob(filepath.Join(folder, "*.sbatch"))
		for _, script := range scripts {
			content, err := os.ReadFile(script)
			must(t, err)
			c.provide(t, string(content), made)
			if !strings.Contains(help, "--segment") && segment.Match(content) { // known since 23.11
				must(t, os.WriteFile(script, segment.ReplaceAll(content, nil), 0o755))
				cut++
			}
			if out, err := c.sh(fmt.Sprintf("sbatch --test-only %q", script)); err != nil {
				rejected++
				t.Errorf("%s: %s", script, out)
				continue
			}
			accepted++
		}
	}
	skipped := ""
	if cut > 0 {
		skipped = fmt.Sprintf("--segment was left out of %d, this Slurm does not know it", cut)
	}
	t.Logf("%d scripts accepted; %s", accepted, skipped)
	record(t, "emitted scripts, submitted with --test-only", accepted, rejected, skipped)
	if accepted+rejected < 30 {
		t.Errorf("only %d scripts were found", accepted+rejected)
	}
	c.refuses(t)
}

// provide makes the partition and the reservation that a script names, once,
// of nodes that exist in the configuration only.
func (c *cluster) provide(t *testing.T, script string, made map[string]bool) {
	t.Helper()
	for _, m := range partition.FindAllStringSubmatch(script, -1) {
		if name := m[1]; !made[name] {
			made[name] = true
			c.do(t, "scontrol create PartitionName=%s Nodes=node[0001-4200] State=UP", name)
		}
	}
	for _, m := range reservation.FindAllStringSubmatch(script, -1) {
		if name := m[1]; !made[name] {
			made[name] = true
			c.do(t, "scontrol create reservation ReservationName=%s Users=root StartTime=now Duration=infinite Nodes=node[2101-4200]", name)
		}
	}
}

// refuses makes sure that the judge says no: to a GPU, a node or an option
// more than there is.
func (c *cluster) refuses(t *testing.T) {
	t.Helper()
	for _, option := range []string{"--gres=gpu:9", "--nodes=4201", "--cpus-per-task=129", "--no-such-option"} {
		line := `printf '#!/bin/sh\n' | sbatch --test-only ` + option
		if out, err := c.sh(line); err == nil {
			t.Errorf("%s was accepted: %s", option, out)
		}
	}
}

// notAsked are two of shellcheck's remarks: on site files that are read on the
// cluster only, and on dollar signs of values that are quoted on purpose.
const notAsked = "SC1091,SC2016"

// scriptsAreClean hands all emitted scripts to shellcheck, whose every other
// remark counts.
func scriptsAreClean(t *testing.T, folders []string) {
	accepted, rejected := 0, 0
	for _, folder := range folders {
		batch, _ := filepath.Glob(filepath.Join(folder, "*.sbatch"))
		shell, _ := filepath.Glob(filepath.Join(folder, "*.sh"))
		scripts := append(batch, shell...)
		args := append([]string{"--shell=bash", "--external-sources", "--source-path=SCRIPTDIR", "--exclude=" + notAsked}, scripts...)
		if out, err := exec.Command("shellcheck", args...).CombinedOutput(); err != nil {
			rejected += len(scripts)
			t.Errorf("%s: %v\n%s", folder, err, out)
			continue
		}
		accepted += len(scripts)
	}
	t.Logf("%d scripts", accepted)
	record(t, "emitted scripts, through shellcheck", accepted, rejected, "")
}

package slurm

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/backends/render"
	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/lang/job"
)

// mount is a folder of the host that a container sees.
type mount struct {
	inside   string
	readOnly bool
}

// mounts lists what the container sees of the host: what the job mounts, and
// what the runtime brings by itself. The scripts add their own folder and that
// of the logs.
func mounts(j *job.Job) []mount {
	c, all := &j.Slurm.Container, []mount(nil)
	for _, m := range c.Mounts {
		fields := strings.SplitN(m, ":", 3)
		if len(fields) < 2 {
			continue
		}
		readOnly := len(fields) == 3 && slices.Contains(strings.FieldsFunc(fields[2], isSeparator), "ro")
		all = append(all, mount{fields[1], readOnly})
	}
	if c.MountHome { // which folder that is, Slurm's node knows
		all = append(all, mount{inside: "${HOME}"}, mount{inside: "/home"}, mount{inside: "/root"})
	}
	if c.Runtime == "apptainer" { // its defaults: "mount tmp" of apptainer.conf
		all = append(all, mount{inside: "/tmp"}, mount{inside: "/var/tmp"})
	}
	return all
}

// isSeparator cuts the flags of a mount: pyxis joins them by "+", Apptainer by ",".
func isSeparator(r rune) bool { return r == '+' || r == ',' }

// CheckMounts reports paths that a container does not share with the host:
// what is saved there ends with the container. A backend's Target calls it, so
// that nobody waits for a search first.
func CheckMounts(j *job.Job, diags *diag.List) {
	if j.Slurm.Container.Image == "" {
		return
	}
	for _, p := range places(j) {
		m := holding(j, p)
		switch {
		case m == nil && (relative(j, p.value) || !unsure(j, p)):
			diags.Error(IDPathOutsideMounts, j.Sources.Range(p.argument), "Path lies under no mount of the container", outside(j, p))
		case m != nil && m.readOnly && p.written:
			diags.Error(IDPathReadOnly, j.Sources.Range(p.argument), "Path is mounted read-only",
				fmt.Sprintf("%s is %q, which the run writes to, and the container mounts %q read-only. Leave out the flag \"ro\" in slurm.container.mounts, or name another path.", p.argument, p.value, m.inside))
		}
	}
}

// relative reports that a path starts where the container starts, which
// nobody said: with pyxis the image says it.
func relative(j *job.Job, p string) bool {
	c := &j.Slurm.Container
	return !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "$") && c.WorkDir == "" && c.Runtime != "apptainer"
}

// holding is the innermost mount with a path in it, by their text; nil without any.
func holding(j *job.Job, p place) *mount {
	var best *mount
	if relative(j, p.value) {
		return nil
	}
	for _, m := range append(mounts(j), mount{inside: logDirText(j)}) {
		if under(inContainer(j, p.value), m.inside) && (best == nil || len(path.Clean(m.inside)) >= len(path.Clean(best.inside))) {
			best = &m
		}
	}
	return best
}

// inContainer is a path seen from the folder that the container starts in.
func inContainer(j *job.Job, p string) string {
	if strings.HasPrefix(p, "/") || strings.HasPrefix(p, "$") {
		return p
	}
	return path.Join("/", j.Slurm.Container.WorkDir, p)
}

// unsure reports that the path, or a mount, names a variable, so that only the
// batch script can tell whether it is mounted.
func unsure(j *job.Job, p place) bool {
	names := render.References(p.value)
	for _, m := range mounts(j) {
		names = append(names, render.References(m.inside)...)
	}
	return len(names) > 0
}

// unsurePaths are the paths that the batch script has to compare with the
// mounts, and the mounts.
func unsurePaths(j *job.Job) (paths, folders []render.Word) {
	for _, p := range places(j) {
		if holding(j, p) == nil {
			paths = append(paths, render.Expanding(inContainer(j, p.value)))
		}
	}
	for _, m := range mounts(j) {
		folders = append(folders, render.Expanding(path.Clean(m.inside)))
	}
	return paths, folders
}

// outside says what is wrong with a path under no mount, and what would be right.
func outside(j *job.Job, p place) string {
	inside := inContainer(j, p.value)
	have := "mounts nothing"
	if m := j.Slurm.Container.Mounts; len(m) > 0 {
		have = "mounts " + strings.ReplaceAll(fmt.Sprintf("%q", m), `" "`, `", "`)
	}
	what := "nothing is there but what the image brings"
	if p.written {
		what = "what is written there ends with the container"
	}
	if relative(j, p.value) {
		return fmt.Sprintf("%s is %q, which in the container starts in the image's own working folder: %s. Write the whole path, below a mount.", p.argument, p.value, what)
	}
	top := "/" + strings.SplitN(strings.TrimPrefix(inside, "/"), "/", 2)[0]
	return fmt.Sprintf("%s is %q in the container, which %s: %s. Add the folder of the host to slurm.container.mounts, such as %q, or name a path below a mount.",
		p.argument, inside, have, what, top+":"+top)
}

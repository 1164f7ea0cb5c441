package output

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Manifest is the file of each folder that lists the others with their hashes,
// and itself with the hash that it has while that hash is empty; JobManifest is
// that of a job's own folder, in which those of its backends lie, and TrialManifest
// that of a trial, in which its candidates lie.
const (
	Manifest      = "plan.json"
	JobManifest   = "job.json"
	TrialManifest = "trial.json"
)

// largest bounds what is read of a file below the output folder. Nothing that
// ndc writes comes near it.
const largest = 64 << 20

// Hash is the hash of a file as a manifest has it.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// WithoutOwnHash is a manifest as its own hash was taken.
func WithoutOwnHash(content []byte, own string) []byte {
	return bytes.Replace(content, []byte(`"`+own+`"`), []byte(`""`), 1)
}

// manifest is what is read of a manifest; no more, so that one of another
// version of ndc tells as well.
type manifest struct {
	FormatVersion string `json:"format_version"`
	Job           string `json:"job"`
	Site          string `json:"site"`
	Backend       string `json:"backend"`
	Artifacts     []struct {
		Path   string `json:"path"`
		SHA256 string `json:"sha256"`
	} `json:"artifacts"`
	owned map[string]string // path → hash of the files that are ndc's
	name  string
}

// paths lists the files that the manifest names, in order.
func (m *manifest) paths() []string {
	var list []string
	for _, a := range m.Artifacts {
		if isLocal(a.Path) {
			list = append(list, a.Path)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// manifest reads the manifest of a folder; it is empty when there is none that ndc
// can have written.
func (o *Output) manifest(folder string) (m manifest) {
	for _, name := range []string{Manifest, JobManifest, TrialManifest} {
		if m = o.readManifest(folder, name); m.owned != nil {
			break
		}
	}
	return m
}

func (o *Output) readManifest(folder, base string) manifest {
	name := path.Join(folder, base)
	if o.onlyFolders(path.Dir(name)) != nil {
		return manifest{}
	}
	content, ok, err := read(o.root, name, largest)
	if err != nil || !ok {
		return manifest{}
	}
	var m manifest
	if json.Unmarshal(content, &m) != nil || m.FormatVersion == "" {
		return manifest{}
	}
	m.owned, m.name = map[string]string{}, base
	for _, a := range m.Artifacts {
		switch {
		case !isLocal(a.Path): // nothing outside the folder is ndc's
		case a.Path != base:
			m.owned[a.Path] = a.SHA256
		case Hash(WithoutOwnHash(content, a.SHA256)) == a.SHA256:
			m.owned[base] = Hash(content)
		}
	}
	return m
}

// isLocal reports whether a path can be that of a generated file: below its
// folder, in its simplest form, and none of those that this package uses.
func isLocal(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) || path.Clean(name) != name || name == "." || strings.ContainsAny(name, "\\\x00") {
		return false
	}
	return !slices.ContainsFunc(strings.Split(name, "/"), func(element string) bool { return element == private || element == Marker })
}

// Build is a folder that a build of ndc wrote; Backend is empty for that of a
// job as a whole. Job is the job's folder, JOB or SITE/JOB.
type Build struct{ Path, Job, Backend string }

// Builds lists the folders JOB and JOB/BACKEND that ndc wrote, and those below
// folders of sites, but for those that somebody claims.
func (o *Output) Builds(claimed func(job, backend string) bool) []Build {
	var list []Build
	for _, dir := range o.folders(".") {
		list = append(list, o.buildsOf(dir, "", claimed)...)
		for _, job := range o.folders(dir) {
			list = append(list, o.buildsOf(path.Join(dir, job), dir, claimed)...)
		}
	}
	return list
}

// buildsOf lists the folders of one job, which for a site not "" must be of that
// site.
func (o *Output) buildsOf(job, site string, claimed func(job, backend string) bool) (list []Build) {
	wrote := func(m manifest) bool { return m.Job == path.Base(job) && (site == "" || m.Site == site) }
	if m := o.manifest(job); m.name == JobManifest && wrote(m) && !claimed(job, "") {
		list = append(list, Build{Path: job, Job: job})
	}
	for _, backend := range o.folders(job) {
		dir := path.Join(job, backend)
		if claimed(job, backend) {
			continue
		}
		if m := o.manifest(dir); wrote(m) && m.Backend == backend {
			list = append(list, Build{Path: dir, Job: job, Backend: backend})
		}
	}
	return list
}

// folders lists the folders in a folder, links and hidden ones left out.
func (o *Output) folders(dir string) []string {
	entries, err := fs.ReadDir(o.root.FS(), dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

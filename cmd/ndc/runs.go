package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ndc-dev/ndc/logs"
	"github.com/ndc-dev/ndc/output"
)

// largestFile is the size of the largest plan.json or file of a revision that is read, in
// bytes. A folder may have files of other programs beside, or one that a change put there
// for its size.
const largestFile = 64 << 20

// readPlain reads a file to its end, if it is no larger than most bytes. A pipe or a
// device, which may have no end, is an error.
func readPlain(name string, most int64) ([]byte, error) {
	return readPlainFrom(disk{}, filepath.ToSlash(name), most)
}

// readPlainFrom is readPlain for a file system of its own, such as a revision.
func readPlainFrom(fsys fs.FS, name string, most int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, err
	}
	if n, _ := f.Read(make([]byte, 1)); n > 0 {
		return nil, fmt.Errorf("it has more than %d MiB", most>>20)
	}
	return text, nil
}

// unreadable are the first bytes of files that tell of nothing as they are, and what makes
// logs of them.
var unreadable = []struct{ head, why string }{
	{"\x1f\x8b", compressed + "gunzip"}, {"\x28\xb5\x2f\xfd", compressed + "unzstd"}, {"\xfd7zXZ\x00", compressed + "unxz"},
	{"BZh", compressed + "bunzip2"}, {"\x04\x22\x4d\x18", compressed + "unlz4"},
	{"\xff\xfe", inUTF16}, {"\xfe\xff", inUTF16},
}

// notText is an error: a log that is no text that is read.
type notText string

func (e notText) Error() string { return string(e) }

const (
	compressed = "it is compressed; unpack it with "
	inUTF16    = "it is in UTF-16, as PowerShell writes what it redirects; make it UTF-8 with iconv -f UTF-16 -t UTF-8"
)

// openLog opens a log. One that is compressed or in UTF-16 is an error: it would tell of
// nothing.
func openLog(name string) (fs.File, error) {
	f, err := disk{}.Open(filepath.ToSlash(name))
	if err != nil {
		return nil, err
	}
	head := make([]byte, 6)
	n, _ := f.(io.ReaderAt).ReadAt(head, 0)
	for _, c := range unreadable {
		if strings.HasPrefix(string(head[:n]), c.head) {
			f.Close()
			return nil, notText(c.why)
		}
	}
	return f, nil
}

// readLog lets a log be read as it comes, which may be larger than memory. The error
// says which log it is.
func readLog(name string, read func(io.Reader) error) error {
	f, err := openLog(name)
	if err == nil {
		err = read(f)
		f.Close()
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", name, cause(err))
	}
	return nil
}

// hashOf is the hash of a log as it is now, and how long it is.
func hashOf(name string) (hash string, size int64, err error) {
	sum := sha256.New()
	err = readLog(name, func(r io.Reader) (err error) {
		size, err = io.Copy(sum, r)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), size, err
}

// walkBelow calls visit for all below a folder, which may be a symbolic link. Names
// begin with the folder's as the user wrote it; the folder itself is left out.
func walkBelow(folder string, visit fs.WalkDirFunc) error {
	root := strings.TrimRight(folder, string(filepath.Separator)) + string(filepath.Separator)
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if name == root && err == nil {
			return nil
		}
		return visit(name, d, err)
	})
}

// foundRuns are plans, in order, and the logs of their runs.
type foundRuns struct {
	plans []string
	logs  map[string][]string

	known map[string]string // plans and their logs by what their names stand for
}

// add adds logs of the run of a plan. One that was named before, whatever its name
// was, is the same log, and tells nothing more.
func (r *foundRuns) add(plan string, names ...string) {
	place := realPath(plan)
	if r.known[place] == "" {
		r.known[place] = plan
		r.plans = append(r.plans, plan)
	}
	plan = r.known[place]
	for _, name := range names {
		if log := place + "\x00" + realPath(name); r.known[log] == "" {
			r.known[log] = name
			r.logs[plan] = append(r.logs[plan], name)
		}
	}
}

// realPath is the one path of a file that has many.
func realPath(name string) string {
	if path, err := filepath.EvalSymlinks(name); err == nil {
		name = path
	}
	if path, err := filepath.Abs(name); err == nil {
		name = path
	}
	return name
}

// otherFiles leaves out names of files that other names stand for already.
func otherFiles(names []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		path := realPath(name)
		defer func() { seen[path] = true }()
		return seen[path]
	})
}

// sort puts plans into the order of their names, and the logs of each into that of
// its submissions, so that it does not matter in which order they were named.
func (r *foundRuns) sort() {
	slices.Sort(r.plans)
	for _, names := range r.logs {
		byAge(names)
	}
}

// runsOf finds the plans of logs, and below folders all that have both.
func runsOf(args []string, planPath string) (*foundRuns, error) {
	r := &foundRuns{logs: map[string][]string{}, known: map[string]string{}}
	single := func(name string) bool { return !isFolder(name) }
	if planPath != "" && !slices.ContainsFunc(args, single) {
		return nil, usageError(fmt.Sprintf("--plan is the plan of single logs, and %s is a folder. Of folders every run has its own, the %s beside its logs.", args[0], planName))
	}
	for _, arg := range args {
		if !isFile(arg) {
			if err := r.below(arg); err != nil {
				return nil, err
			}
			continue
		}
		plan := cmp.Or(planPath, planAbove(arg))
		if plan == "" {
			return nil, noPlanOf(arg)
		}
		if planPath == "" {
			plan = ranBy(plan, arg)
		}
		r.add(shortest(plan), arg)
	}
	r.sort()
	if len(r.plans) == 0 {
		return nil, usageError(fmt.Sprintf("There are no runs in %s: no folder with %s and logs/*.log.", strings.Join(args, ", "), planName))
	}
	return r, nil
}

// ranBy is the plan that the run of a log began with: the one that was found for it,
// or, where that was built anew since, the copy that the run keeps beside it.
func ranBy(plan, log string) string {
	const head = 1 << 20 // bytes; the script names its run in its first lines
	var parser logs.Parser
	err := readLog(log, func(r io.Reader) error { return parser.Read(io.LimitReader(r, head)) })
	launches := parser.Log().Launches
	if err != nil || len(launches) == 0 || launches[0].Configuration == "" {
		return plan
	}
	kept := filepath.Join(filepath.Dir(plan), "runs", launches[0].Run, planName)
	if configuration := launches[0].Configuration; !hasOwnHash(plan, configuration) && hasOwnHash(kept, configuration) {
		return kept
	}
	return plan
}

// hasOwnHash reports whether a file is the plan.json of the build that a hash stands for.
func hasOwnHash(name, own string) bool {
	text, err := readPlain(name, largestFile)
	return err == nil && output.Hash(output.WithoutOwnHash(text, own)) == own
}

// markEdited names the files that were edited in the copies that the launches of a log ran,
// which lie beside its plan.
func markEdited(log *logs.Log, plan string) {
	for i := range log.Launches {
		l, folder := &log.Launches[i], filepath.Dir(plan)
		if l.Run != "" && l.Run != filepath.Base(folder) { // the plan may be such a copy's own
			folder = filepath.Join(folder, "runs", l.Run)
		}
		if l.Run != "" {
			l.Edited = edited(folder)
		}
	}
}

// edited is the first file of a folder of which its plan.json has another hash; "" for none.
// What cannot be read says nothing.
func edited(folder string) string {
	f, err := readPlan(filepath.Join(folder, planName))
	if err != nil {
		return ""
	}
	for _, a := range f.Artifacts {
		text, err := readPlain(filepath.Join(folder, filepath.FromSlash(a.Path)), largestFile)
		if filepath.IsLocal(a.Path) && err == nil && output.Hash(output.WithoutOwnHash(text, a.SHA256)) != a.SHA256 {
			return a.Path
		}
	}
	return ""
}

// below adds the folders of backends that have logs. The copies that runs keep of
// their files are no runs of their own.
func (r *foundRuns) below(folder string) error {
	err := walkBelow(folder, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "runs" && isFile(filepath.Join(filepath.Dir(name), planName)):
			return fs.SkipDir
		case d.Name() == planName:
			if packed := packedLogs(filepath.Dir(name)); len(packed) > 0 {
				return packed[0]
			}
			for _, log := range logsOf(filepath.Dir(name)) {
				r.add(ranBy(name, log), log)
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return noSuch(folder)
	}
	if err != nil && !errors.As(err, new(notText)) {
		return unreadBelow(folder, err)
	}
	return err
}

// unreadBelow says what could not be read: a folder, or what the error names below it.
func unreadBelow(folder string, err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		folder = filepath.Clean(e.Path)
	}
	return fmt.Errorf("%s cannot be read: %w", folder, cause(err))
}

func noSuch(name string) error { return usageError("There is no " + name + ".") }

// shortest is a path from the working directory where that is below it.
func shortest(name string) string {
	dir, err := os.Getwd()
	if err != nil {
		return name
	}
	if rel, err := filepath.Rel(dir, name); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return name
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ndc-dev/ndc/diag"
	"github.com/ndc-dev/ndc/output"
)

// warnOfChains tells of chains of submissions that have not ended, as far as
// the folders that a build writes say. They go on with their own copy of the
// files, so that a build harms none; but nobody should expect it to reach them.
func warnOfChains(out string, folders []output.Folder) diag.List {
	var diags diag.List
	for i := range folders {
		states, _ := filepath.Glob(filepath.Join(escapeGlob(shownPath(out, folders[i].Path)), "runs", "*", "chain.state"))
		for _, path := range states {
			if state := readState(path); state["over"] == "no" {
				diags.Warn(IDChainAlive, diag.Range{}, "A chain of submissions has not ended",
					fmt.Sprintf("%s says that link %s runs as job %s, followed by job %s. It goes on with the files that it began with, those beside that file; what is built now is for the next submission. If the chain was cancelled, remove the file.",
						path, state["link"], state["job"], state["successor"]))
			}
		}
	}
	return diags
}

// readState reads what the batch script wrote: NAME=VALUE on each line, the
// last of which says whether the chain is over. Anything else is no state.
func readState(path string) map[string]string {
	const most = 4096
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	content, err := io.ReadAll(io.LimitReader(f, most))
	_ = f.Close()
	if err != nil {
		return nil
	}
	state := map[string]string{}
	for line := range bytes.Lines(content) {
		if name, value, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), "="); ok {
			state[name] = printable(value)
		}
	}
	return state
}

// printable keeps what the script writes as values: digits and small words.
func printable(value string) string {
	for _, r := range value {
		if (r < '0' || r > '9') && (r < 'a' || r > 'z') {
			return "unknown"
		}
	}
	if value == "" {
		return "unknown"
	}
	return value
}

// escapeGlob makes a folder's name match itself only.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

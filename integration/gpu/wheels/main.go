// Command wheels fills a folder with the frameworks that the GPU tests run, and
// with all that they need beside torch, for a machine that reaches no index:
//
//	go run ./integration/gpu/wheels FOLDER [TORCH]
//
// TORCH is the torch of that machine, such as 2.11.0: without it the newest
// releases are packed, with it the newest that run there.
//
// It installs here what it packs. The wheels suit the CPython and the kind of
// processor of this machine; there, NDC_WHEELS names the folder.
package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/ndc-dev/ndc/integration/gpu"
)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "wheels: give one folder, and the torch of the machine that they are for")
		os.Exit(2)
	}
	for _, kind := range gpu.Kinds {
		releases := gpu.Releases(kind)
		i := slices.IndexFunc(releases, func(release string) bool {
			e := gpu.Environment(kind, release)
			return len(os.Args) == 2 || !e.Pinned || e.Torch == os.Args[2]
		})
		if i < 0 {
			fmt.Fprintf(os.Stderr, "wheels: no release of %s runs on torch %s\n", kind, os.Args[2])
			os.Exit(1)
		}
		fmt.Println("packing", kind, releases[i])
		if err := gpu.Environment(kind, releases[i]).Wheels(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "wheels:", err)
			os.Exit(1)
		}
	}
}

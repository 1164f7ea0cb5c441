// Command wheels fills a folder with the frameworks that the GPU tests run, and
// with all that they need beside torch, for a machine that reaches no index:
//
//	go run ./integration/gpu/wheels FOLDER
//
// It installs here what it packs. The wheels suit the CPython and the kind of
// processor of this machine; there, NDC_WHEELS names the folder.
package main

import (
	"fmt"
	"os"

	"github.com/ndc-dev/ndc/integration/gpu"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "wheels: give one folder")
		os.Exit(2)
	}
	for _, kind := range gpu.Kinds {
		fmt.Println("packing", kind)
		if err := gpu.Environment(kind).Wheels(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "wheels:", err)
			os.Exit(1)
		}
	}
}

// Command site renders the documentation as a small static site: README.md and
// every page of docs as HTML, with the pictures that they show. The pages stay
// what they are, Markdown that reads well in the repository; tools/docs writes
// the generated ones. What the site has beyond them is a list of the pages
// (pages.txt) and one template (page.html).
//
//	go run ./tools/site FOLDER
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./tools/site FOLDER")
		os.Exit(2)
	}
	if err := write(os.DirFS("."), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// write renders the repository into a folder, which is made.
func write(repository fsys, folder string) error {
	files, err := render(repository)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o666); err != nil {
			return err
		}
	}
	fmt.Printf("%d files in %s\n", len(files), folder)
	return nil
}

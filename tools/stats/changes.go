package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// A section of docs/extending.md is a kind of change; its numbered steps begin
// with the file that they touch.
var step = regexp.MustCompile(`(?m)^\d+\. (?:\[)?` + "`?" + `([^\s` + "`" + `\]]+)`)

// changes prints how many files each kind of change touches.
func changes(guide string) error {
	text, err := os.ReadFile(guide)
	if err != nil {
		return err
	}
	fmt.Println("\nfiles that a change touches")
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		if files := step.FindAllString(body, -1); len(files) > 0 {
			fmt.Printf("%4d %s\n", len(files), title)
		}
	}
	return nil
}

// Package facts reads the files of facts that are part of the program, JSON that
// stands beside the code that asks for it. What they say, and by which sources, is
// the business of the packages that have them; files of others are read elsewhere.
package facts

import (
	"encoding/json"
	"strings"
)

// Lines are the records of a file, one a line. A file that cannot be read, or that
// says what T has no place for, is the program's own mistake.
func Lines[T any](name, text string) (list []T) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	for d.More() {
		var record T
		if err := d.Decode(&record); err != nil {
			panic(name + ": " + err.Error())
		}
		list = append(list, record)
	}
	return list
}

// One is the one record of a file, read as [Lines] are.
func One[T any](name, text string) T {
	list := Lines[T](name, text)
	if len(list) != 1 {
		panic(name + ": it is not one record")
	}
	return list[0]
}

// By are records by what they are about.
func By[K comparable, T any](records []T, about func(T) K) map[K]T {
	all := make(map[K]T, len(records))
	for _, r := range records {
		all[about(r)] = r
	}
	return all
}

package main

import (
	"embed"
	"encoding/json"
)

//go:embed *.json
var data embed.FS

// embedded reads an embedded list.
func embedded[T any](name string) (list []T) {
	b, err := data.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil {
		panic("accuracy: " + name + ": " + err.Error())
	}
	return list
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTextThatLooksBare sets text in the spelling that stands for a bare NaN in memory. It
// must be stored as text.
func TestTextThatLooksBare(t *testing.T) {
	for format, names := range map[string][]string{"2": {"a/.zattrs", ".zmetadata"}, "3": {"a/zarr.json", "zarr.json"}} {
		group := filepath.Join(t.TempDir(), "q.zarr")
		must(t, "", "create", "--group", group, "--zarr-format", format)
		a := filepath.Join(group, "a")
		must(t, "", "create", a, "--shape", "4", "--dtype", "float32", "--chunks", "2", "--zarr-format", format, "--attributes", `{"x":"\u004eaN"}`)
		must(t, "", "attrs", a, "set", "w", `["\u0049nfinity", "\u002dInfinity"]`)
		must(t, "", "consolidate", group)
		for _, name := range names {
			doc, err := os.ReadFile(filepath.Join(group, name))
			if text := string(doc); err != nil || !strings.Contains(text, `"x": "NaN"`) || !strings.Contains(text, `"w": ["Infinity", "-Infinity"]`) {
				t.Errorf("format %s, %s: %v, %s", format, name, err, doc)
			}
		}
	}
}

// TestBareNumbersAreShown checks that a bare NaN of zarr-python is printed unchanged, and
// as text with --json.
func TestBareNumbersAreShown(t *testing.T) {
	a := filepath.Join(t.TempDir(), "q.zarr")
	must(t, "", "create", a, "--shape", "4", "--dtype", "float32", "--chunks", "2", "--attributes", `{"x":"1.5","y":"NaN"}`)
	name := filepath.Join(a, "zarr.json")
	doc, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, name, strings.Replace(string(doc), `"1.5"`, "NaN", 1))
	const people, programs = "\"x\": NaN,\n  \"y\": \"NaN\"", "\"x\": \"NaN\",\n  \"y\": \"NaN\""
	if got := must(t, "", "attrs", a); !strings.Contains(got, people) {
		t.Errorf("attrs: %s", got)
	}
	if got := must(t, "", "attrs", a, "--json"); !strings.Contains(got, programs) {
		t.Errorf("attrs --json: %s", got)
	}
	if got := must(t, "", "info", a); !strings.Contains(got, "x: NaN\n") || !strings.Contains(got, "y: \"NaN\"\n") {
		t.Errorf("info: %s", got)
	}
	if got := must(t, "", "info", a, "--json"); !json.Valid([]byte(got)) || strings.Contains(got, `\u004e`) {
		t.Errorf("info --json: %s", got)
	}
	must(t, "", "attrs", a, "set", "z", "1")
	if doc, err = os.ReadFile(name); err != nil || !strings.Contains(string(doc), `"x": NaN`) || !strings.Contains(string(doc), `"y": "NaN"`) {
		t.Errorf("%v, %s", err, doc)
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
)

// TestNamesMeant misspells the name of a dimension or a coordinate in every command that
// takes one. Each names the one that is probably meant.
func TestNamesMeant(t *testing.T) {
	racing.Skip(t)
	g := calendarGroup(t)
	f := files(t, "[90]", "[[1]]")
	to := filepath.Join(t.TempDir(), "to.zarr")
	for _, line := range []string{
		"append G time=0 first=1 --by tiem",
		"append G G --by tiem",
		"append G time=0 first=1 --axis tiem",
		"append G tiem=0 first=1",
		"append G/first G/first --by tiem",
		"append G/first G/first --axis tiem",
		"insert G --axis tiem --at 0 time=0",
		"insert G --axis time --at 0 tiem=0",
		"insert G/first --axis tiem --at 0 0",
		"drop G --axis tiem --range 0:1 --yes",
		"drop G --select tiem=..2020-01-02 --yes",
		"drop G/first --select tiem=0:1 --yes",
		"compact G --axis tiem --to max:3",
		"compact G --to calendar:month --time tiem",
		"compact G/first --to calendar:month --time tiem",
		"rechunk G/first --chunks calendar:month --time tiem",
		"rechunk G --chunks calendar:month --time tiem",
		"rechunk G/first TO --chunks 2 --select tiem=0:1",
		"create G/new --shape 4 --dtype int8 --chunks calendar:month --time tiem",
		"unlock G --axis tiem",
		"unlock G/first --axis tiem",
		"filter G TO --where tiem>3",
		"stitch G G --axis tiem",
		"stitch G/first G/first --axis tiem",
		"cat G/first --select tiem=0:1",
		"cat G/first --select tiem=2020-01-01..2020-01-02",
		"write G/first --select tiem=0:1 --value 3",
		"resize G/first --shape 91,40 --grow calendar:month --time tiem --alone",
		"info G/tiem",
		"attrs G/tiem",
	} {
		var args []string
		for word := range strings.FieldsSeq(line) {
			switch name, file, named := strings.Cut(word, "="); {
			case word == "G" || strings.HasPrefix(word, "G/"):
				word = g + word[1:]
			case word == "TO":
				word = to
			case named && (file == "0" || file == "1"):
				word = name + "=" + f[int(file[0]-'0')]
			}
			args = append(args, word)
		}
		if _, stderr, status := execute(t, "", args...); status == 0 || !strings.Contains(stderr, "did you mean time?") {
			t.Errorf("%s: status %d, %s", line, status, stderr)
		}
	}
}

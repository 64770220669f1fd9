// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/failure"
)

// TestSpaceIsShown prints what a plan takes and what is free, as far as the store tells.
func TestSpaceIsShown(t *testing.T) {
	node := monthly(t)
	args := []string{"rechunk", node, "--chunks", "60,100", "--dry-run"}
	out := decode(t, must(t, "", append(args, "--json")...))
	if n, _ := out["bytes_written_estimate"].(float64); n <= 0 || n > 24000 {
		t.Errorf("the estimate is %v", out["bytes_written_estimate"])
	}
	text := must(t, "", args...)
	if _, tells := out["space_free"].(float64); !strings.Contains(text, "to store") || tells != strings.Contains(text, " free\n") {
		t.Errorf("%v: %s", out["space_free"], text)
	}
	// The words of the library are those of the command.
	err := failure.OneLine(rechunkNoSpace{})
	if strings.Contains(err, "Options.") || !strings.Contains(err, "DST") || !strings.Contains(err, "varve vacuum") {
		t.Error(err)
	}
}

// rechunkNoSpace has the hints of the library.
type rechunkNoSpace struct{}

func (rechunkNoSpace) Error() string {
	return "choose another place (Options.Into), or delete superseded grids (rechunk.Vacuum)"
}

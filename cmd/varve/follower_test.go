// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestFollowerIsNotChanged tries to change an array that follows another one, by every
// command, alone and in its group. It stays in step, and becomes an array of its own on
// request.
func TestFollowerIsNotChanged(t *testing.T) {
	for _, format := range []string{"3", "2"} {
		t.Chdir(t.TempDir())
		must(t, "", "create", "s.zarr/t", "--shape", "6,4", "--dtype", "int16", "--chunks", "1,4", "--dimension-names", "time,x", "--zarr-format", format)
		must(t, "", "write", "s.zarr/t", "--value", "280")
		must(t, "", "create", "d.zarr", "--group", "--zarr-format", format)
		follow := strings.Fields("rechunk s.zarr/t d.zarr/t --chunks 4,2 --follow")
		must(t, "", follow...)
		overwrite(t, "x.json", "[[1,2,3,4]]")
		for _, line := range []string{
			"append d.zarr/t x.json", "append d.zarr t=x.json", "append d.zarr s.zarr --axis 0", "append d.zarr/t s.zarr/t",
			"write d.zarr/t --value 1 --yes", "write d.zarr/t --select 0:1 x.json", "resize d.zarr/t --shape 7,4", "resize d.zarr time=7",
			"insert d.zarr/t --axis 0 --at 0 x.json --unlock", "drop d.zarr/t --axis 0 --range 0:1 --yes --unlock", "drop d.zarr --axis time --range 0:1 --yes --unlock",
			"unlock d.zarr/t", "unlock d.zarr", "rechunk d.zarr/t --chunks 6,4", "compact d.zarr/t --to max:6", "append d.zarr/t x.json --dry-run",
		} {
			_, errs, status := execute(t, "", strings.Fields(line)...)
			if format == "2" && strings.Contains(errs, "format") {
				continue // it cannot be done there anyway
			}
			if status != 1 || !strings.Contains(errs, "it follows s.zarr/t: change that array") {
				t.Errorf("format %s: %s: status %d, %s", format, line, status, errs)
			}
		}
		must(t, "", follow...)
		must(t, "", "equal", "s.zarr/t", "d.zarr/t")
		must(t, "", "append", "s.zarr/t", "x.json") // the array that is followed grows
		must(t, "", follow...)
		must(t, "", "copy", "d.zarr/t", "own.zarr/t")
		must(t, "", "append", "own.zarr/t", "x.json")
		if format == "2" {
			continue
		}
		must(t, "", "attrs", "d.zarr/t", "unset", "varve:follow")
		must(t, "", "append", "d.zarr/t", "x.json")
		refuses(t, "the array does not follow another one", follow...)
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path"
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

// TestLevelIsNotChanged tries to change a level of a pyramid, by every command, alone and
// in its group. It stays in step, a group is changed without it, and it becomes an array
// of its own on request.
func TestLevelIsNotChanged(t *testing.T) {
	for _, c := range []struct{ format, base, level string }{
		{"3", "s.zarr/t", "s.zarr/t_levels/1/t"}, {"2", "s.zarr/t", "s.zarr/t_levels/1/t"}, {"3", "s.zarr/0", "s.zarr/0_levels/1/0"}, {"3", "s.zarr/deep/0", "s.zarr/deep/1"},
	} {
		t.Chdir(t.TempDir())
		must(t, "", "create", c.base, "--shape", "8,8", "--dtype", "int16", "--chunks", "4,4", "--dimension-names", "y,x", "--zarr-format", c.format)
		must(t, "", "write", c.base, "--value", "280")
		if strings.Contains(c.base, "deep") { // an image of OME-Zarr, as other programs describe it
			must(t, "", "attrs", "s.zarr/deep", "set", "ome", `{"version": "0.5", "multiscales": [{"axes": [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
				"datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}]}]}`)
		}
		must(t, "", "pyramid", c.base, "--levels", "2")
		parent, name := path.Split(c.level)
		parent = strings.TrimSuffix(parent, "/")
		overwrite(t, "x.json", "[[1,2,3,4]]")
		must(t, "", "create", "seg.zarr", "--shape", "1,4", "--dtype", "int16", "--dimension-names", strings.Join(dimensionsOf(t, c.level), ","), "--zarr-format", c.format)
		before := treeOf(t, c.level)
		for _, line := range []string{
			"append LEVEL x.json", "append PARENT NAME=x.json --alone", "append LEVEL x.json --dry-run", "append LEVEL seg.zarr", "write LEVEL --value 1 --yes", "write LEVEL --select 0:1 x.json",
			"resize LEVEL --shape 5,4", "insert LEVEL --axis 0 --at 0 x.json --unlock", "drop LEVEL --axis 0 --range 0:1 --yes --unlock",
			"unlock LEVEL", "rechunk LEVEL --chunks 2,4", "regularize LEVEL --chunks 2", "compact LEVEL --to max:6", "stitch LEVEL seg.zarr --alone",
		} {
			args := strings.Fields(strings.NewReplacer("LEVEL", c.level, "PARENT", parent, "NAME", name).Replace(line))
			_, errs, status := execute(t, "", args...)
			if c.format == "2" && strings.Contains(errs, "format") {
				continue // it cannot be done there anyway
			}
			if status != 1 || !strings.Contains(errs, "it is level 1 of the pyramid of "+c.base+": change that array, and varve pyramid brings this one up to date") {
				t.Errorf("%v: %q: status %d, %s", c, args, status, errs)
			}
		}
		if after := treeOf(t, c.level); after != before {
			t.Errorf("%v has changed:\n%s\n%s", c, before, after)
		}
		if c.format == "3" {
			for _, line := range []string{"rechunk s.zarr --chunks 8", "unlock s.zarr"} {
				out, errs, status := execute(t, "", strings.Fields(line)...)
				if status != 0 || !strings.Contains(errs, c.level+": it is level 1 of the pyramid of "+c.base+", and is left as it is") || treeOf(t, c.level) != before {
					t.Errorf("%v: %s: status %d, %s%s", c, line, status, out, errs)
				}
			}
		}
		must(t, "", "write", c.base, "--select", "0:4,0:4", "--value", "7")
		must(t, "", "pyramid", c.base, "--levels", "2")
		if got := must(t, "", "export", c.level, "--select", "0,0", "--format", "json"); got != "7\n" {
			t.Errorf("%v: %s", c, got)
		}
		// A copy of the level alone is no level of anything.
		must(t, "", "copy", c.level, "own.zarr/a")
		must(t, "", "write", "own.zarr/a", "--value", "1", "--yes")
		must(t, "", "attrs", c.level, "unset", "varve:pyramid")
		must(t, "", "write", c.level, "--value", "1", "--yes")
	}
}

// dimensionsOf returns the names of the dimensions of an array.
func dimensionsOf(t *testing.T, location string) (names []string) {
	t.Helper()
	list, _ := decode(t, must(t, "", "info", location, "--json"))["dimension_names"].([]any)
	for _, n := range list {
		names = append(names, n.(string))
	}
	return names
}

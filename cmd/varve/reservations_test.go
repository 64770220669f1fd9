// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
)

// TestReservations lists reservations that a program left, publishes one and cancels
// another.
func TestReservations(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group")
	ids := map[string]string{}
	for _, name := range []string{"a", "b"} {
		node := group + "/" + name
		must(t, "", "create", node, "--shape", "2", "--dtype", "int8", "--chunks", "[[2]]")
		a, err := zarr.OpenArray(t.Context(), node, &zarr.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.Reserve(t.Context(), 0, 3, 4)
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = r.ID()
		for part, n := range []int{3, 4} {
			if err := zarr.WritePart(t.Context(), r, part, make([]int8, n)); err != nil {
				t.Fatal(err)
			}
		}
		a.Close()
	}
	list, _ := decode(t, must(t, "", "reservations", group, "--json"))["reservations"].([]any)
	if len(list) != 2 {
		t.Fatalf("%v", list)
	}
	first, _ := list[0].(map[string]any)
	if first["id"] != ids["a"] || fmt.Sprint(first["parts"], first["start"], first["stop"]) != "2 [2] [9]" || first["since"] == nil ||
		!strings.Contains(fmt.Sprint(first["holder"]), "process") {
		t.Errorf("%v", first)
	}
	if out := must(t, "", "reservations", group+"/a", "--publish", ids["a"], "--dry-run"); !strings.Contains(out, "nothing was changed") {
		t.Error(out)
	}
	for node, id := range map[string]string{group + "/a": ids["a"], group: "reservation "} {
		if _, errs, got := execute(t, "", "rm", node, "--yes"); got != 1 || !strings.Contains(errs, id) ||
			!strings.Contains(errs, "process ") || !strings.Contains(errs, "varve reservations") {
			t.Errorf("rm %s: status %d, %s", node, got, errs)
		}
	}
	for status, args := range map[int][]string{
		1: {"reservations", group, "--cancel", "none", "--yes"}, 2: {"reservations", group, "--cancel", ids["b"]},
	} {
		if _, errs, got := execute(t, "", args...); got != status {
			t.Errorf("%q: status %d, %s", args, got, errs)
		}
	}
	must(t, "", "reservations", group, "--publish", ids["a"])
	must(t, "", "reservations", group+"/b", "--cancel", ids["b"], "--yes")
	if out := must(t, "", "reservations", group); !strings.Contains(out, "no reservations") {
		t.Error(out)
	}
	for name, want := range map[string]string{"a": "[9]", "b": "[2]"} {
		info := decode(t, must(t, "", "info", group+"/"+name, "--json"))
		if fmt.Sprint(info["shape"]) != want {
			t.Errorf("%s has the shape %v, want %s", name, info["shape"], want)
		}
		must(t, "x", "append", group+"/"+name, "--format", "raw")
	}
}

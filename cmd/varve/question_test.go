// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
)

// TestQuestionsComeLast runs commands that would ask before they delete, but that must
// fail. They must fail without asking.
func TestQuestionsComeLast(t *testing.T) {
	dir := t.TempDir()
	array, group, held := dir+"/a.zarr", dir+"/g.zarr", dir+"/h.zarr"
	must(t, "", "create", array, "--shape", "4", "--dtype", "int8", "--chunks", "2", "--compressor", "none")
	for _, g := range []string{group, held} {
		must(t, "", "create", g, "--group")
		must(t, "", "create", g+"/v2/x", "--group")
		must(t, "", "create", g+"/b", "--shape", "4", "--dtype", "int8", "--chunks", "2", "--dimension-names", "x")
	}
	a, err := zarr.OpenArray(t.Context(), held+"/b", &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := a.Reserve(t.Context(), 0, 2); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("g.zarr", dir+"/link.zarr"); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	const reserved = "held by reservation"
	for _, c := range []struct{ args, want string }{
		{"rm " + dir + "/nothere.zarr", "nothing is here"},
		{"rm " + dir + "/link.zarr", "symbolic link"},
		{"rm " + held, reserved},
		{"rm " + held + "/b", reserved},
		{"create " + held + " --group --overwrite", reserved},
		{"create " + held + " --shape 2 --dtype int8 --overwrite", reserved},
		{"create " + dir + "/link.zarr --group --overwrite", "symbolic link"},
		{"copy " + array + " " + held + " --overwrite", reserved},
		{"create " + group + "/v2 --shape 2 --dtype int8 --overwrite --zarr-format 2", "format 2 below a group of format 3"},
		{"copy " + array + " " + dir + "/link.zarr --overwrite", "symbolic link"},
		{"copy " + group + "/b " + group + " --overwrite", "lies in the destination"},
		{"convert " + array + " " + group + "/v2 --to 2 --overwrite", "is of format 3"},
		{"copy " + held + " " + group + " --move --overwrite", reserved},
		{"convert " + array + " " + held + " --to 2 --overwrite", reserved},
		{"resize " + held + "/b --shape 2", "reservation"},
		{"resize " + held + " x=2", "reservation"},
		{"resize " + group + "/b --shape 2 --expect 5", "[5] was expected"},
		{"resize " + group + "/b --shape 2 --grow fixed:0", "fixed"},
		{"resize " + group + "/b --shape 2,2", "axes"},
	} {
		args := strings.Fields(c.args)
		for _, stdin := range []any{nil, typing("y\n")} {
			var out, errs bytes.Buffer
			in := console.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
			if typed, is := stdin.(typist); is {
				in.In = typed
			}
			status := run(t.Context(), args, in)
			if said := errs.String(); status == 0 || !strings.Contains(said, c.want) || strings.Contains(said, "--yes") || strings.Contains(said, "[y/N]") {
				t.Errorf("%s: status %d, %s", c.args, status, said)
			}
		}
	}
}

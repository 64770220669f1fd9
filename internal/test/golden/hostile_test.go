// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
)

// TestHostile opens and reads every hostile store. Invalid stores give an error of a
// known kind within bounds of memory and time, and stores that only look invalid are
// read.
func TestHostile(t *testing.T) {
	racing.Skip(t)
	dir := t.TempDir()
	z := fixture.OpenZip(t, "hostile.zip")
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Cases []fixture.HostileCase }
	fixture.ReadJSON(t, z, "manifest.json", &manifest)
	refused, accepted, left, noted := map[string]int{}, map[string]int{}, 0, 0
	for _, c := range manifest.Cases {
		if c.Kind == "references" {
			left++ // the store is not implemented
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			c.Prepare(t, dir)
			sum, err := c.Bounded(t, dir)
			if fixture.Repaired[c.ID] != "" && c.Expect == "error" {
				noted++
				c.CheckRepaired(t, dir)
				return
			}
			switch {
			case c.Expect == "error" && err == nil:
				t.Errorf("accepted, want an error: %s", c.Why)
			case c.Expect == "ok" && err != nil:
				t.Errorf("error is %v, want none: %s", err, c.Why)
			case c.Expect == "ok" && c.SHA256 != "" && sum != c.SHA256:
				t.Errorf("the elements read differ from those expected (%s)", c.Why)
			case err != nil:
				refused[c.Kind]++
				checkMessage(t, err)
			default:
				accepted[c.Kind]++
			}
		})
	}
	checkCounts(t, "refused", refused, map[string]int{"array": 389, "group": 26, "zip": 24})
	checkCounts(t, "accepted", accepted, map[string]int{"array": 20, "group": 3, "zip": 2})
	checkCounts(t, "repaired", map[string]int{"array": noted}, map[string]int{"array": len(fixture.Repaired)})
	checkCounts(t, "left out", map[string]int{"references": left}, map[string]int{"references": 50})
}

func checkCounts(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// checkMessage expects an error to be one short line that names the operation and the
// place.
func checkMessage(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	if strings.Contains(text, "\n") || len(text) > 2000 {
		t.Errorf("the message has %d bytes: %.300q", len(text), text)
	}
	var at *zarr.Error
	if !errors.As(err, &at) {
		t.Errorf("%v is not a *zarr.Error", err)
	}
}

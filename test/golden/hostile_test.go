// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/test/fixture"
)

// TestHostile opens and reads every hostile store: what is to be refused ends in an error
// of a known kind within the bounds on memory and time, what only looks bad is read.
func TestHostile(t *testing.T) {
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
			left++ // no store yet
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
				t.Errorf("accepted, though %s", c.Why)
			case c.Expect == "ok" && err != nil:
				t.Errorf("refused with %v, though %s", err, c.Why)
			case c.Expect == "ok" && c.SHA256 != "" && sum != c.SHA256:
				t.Errorf("other elements were read (%s)", c.Why)
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

// checkMessage expects an error to say in one line of bearable length what was done
// where.
func checkMessage(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	if strings.Contains(text, "\n") || len(text) > 2000 {
		t.Errorf("the message has %d bytes: %.300q", len(text), text)
	}
	var at *zarr.Error
	if !errors.As(err, &at) {
		t.Errorf("%v is no *zarr.Error", err)
	}
}

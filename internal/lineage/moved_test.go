// SPDX-License-Identifier: Apache-2.0

package lineage

import (
	"encoding/json"
	"testing"
	"time"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestMovedSince asks for moves since a time. The machine that has written the note may
// have another clock than this one, and the age of the record counts then.
func TestMovedSince(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		note  any
		since time.Duration // before now
		exact bool
		want  bool
	}{
		"no note":            {nil, time.Hour, false, false},
		"before":             {movedNote{At: now.Add(-2 * time.Hour), Noted: now}, time.Hour, false, false},
		"since":              {movedNote{At: now.Add(-time.Minute), Noted: now}, time.Hour, false, true},
		"by a slow clock":    {movedNote{At: now.Add(-time.Minute - 5*time.Hour), Noted: now.Add(-5 * time.Hour)}, time.Hour, false, true},
		"by a fast clock":    {movedNote{At: now.Add(-2*time.Hour + 5*time.Hour), Noted: now.Add(5 * time.Hour)}, time.Hour, false, false},
		"by the one clock":   {movedNote{At: now.Add(-2 * time.Hour), Noted: now.Add(5 * time.Hour)}, time.Hour, true, false},
		"of an old program":  {map[string]any{"id": "x", "at": now.Add(-time.Minute)}, time.Hour, false, true},
		"in timeless stores": {movedNote{Noted: now}, 0, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := Array{Store: memstore.New()}
			if test.note != nil {
				raw, err := json.Marshal(test.note)
				if err == nil {
					_, err = store.Put(t.Context(), a.Store, a.movedKey(), raw, store.Flush)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if is, err := a.MovedSince(t.Context(), now.Add(-test.since), test.exact); err != nil || is != test.want {
				t.Errorf("%t (%v)", is, err)
			}
		})
	}
}

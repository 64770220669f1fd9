// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"errors"
	"testing"
	"time"

	"varve.dev/zarr/store"
)

// TestSourceKnown compares sources with what they are now, as the documentation says: by
// size, and by time or version where they are known.
func TestSourceKnown(t *testing.T) {
	then, epoch := time.Unix(5, 7), time.Unix(0, 0)
	for name, c := range map[string]struct {
		scheme       string
		scanned, now store.Info
		changed      bool
	}{
		"nothing":             {"file", store.Info{Size: 3, FileTime: then}, store.Info{Size: 3, FileTime: then}, false},
		"size":                {"file", store.Info{Size: 3, FileTime: then}, store.Info{Size: 4, FileTime: then}, true},
		"time":                {"file", store.Info{Size: 3, FileTime: then}, store.Info{Size: 3, FileTime: then.Add(1)}, true},
		"time, to 0":          {"file", store.Info{Size: 3, FileTime: then}, store.Info{Size: 3, FileTime: epoch}, true},
		"time, from 0":        {"file", store.Info{Size: 3, FileTime: epoch}, store.Info{Size: 3, FileTime: then}, false},
		"size, from 0":        {"file", store.Info{Size: 3, FileTime: epoch}, store.Info{Size: 4, FileTime: then}, true},
		"version of a file":   {"file", store.Info{Size: 3, Version: store.MakeVersion("1")}, store.Info{Size: 3, Version: store.MakeVersion("2")}, false},
		"version":             {"s3", store.Info{Size: 3, Version: store.MakeVersion("1")}, store.Info{Size: 3, Version: store.MakeVersion("2")}, true},
		"time of an object":   {"s3", store.Info{Size: 3, FileTime: then}, store.Info{Size: 3, FileTime: epoch}, false},
		"object, no versions": {"https", store.Info{Size: 3}, store.Info{Size: 3}, false},
	} {
		s := describe("x", c.scanned, c.scheme)
		if err := s.check(c.now, c.scheme); errors.Is(err, errSourceChanged) != c.changed || err != nil != c.changed {
			t.Errorf("%s: %v", name, err)
		}
	}
}

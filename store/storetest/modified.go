// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"time"

	"varve.dev/zarr/store"
)

// Figures of [checkModified].
const (
	clockSkew = time.Minute // how far a time may be from now
	clockTick = time.Second // HTTP rounds times to this, so a converted time may be off by as much
)

// checkModified checks that the time of a write, if the store reports one, is by the
// clock of this machine, and that a later write has no earlier time.
func checkModified(p *probe) {
	var last time.Time
	for i := range 10 {
		p.put("m", fmt.Appendf(nil, "value %d", i))
		info, err := store.Stat(p.ctx, p.s, store.MustKey("m"))
		p.is(err, nil, "Stat")
		switch now := time.Now(); {
		case info.Modified.IsZero():
			return
		case now.Sub(info.Modified).Abs() > clockSkew:
			p.errorf("write %d was %v, and now it is %v", i, info.Modified, now)
		case last.Sub(info.Modified) > clockTick:
			p.errorf("write %d was %v, after one of %v", i, info.Modified, last)
		}
		last = info.Modified
	}
}

// near reports whether two results for one version give the same time.
func near(a, b time.Time) bool { return a.IsZero() == b.IsZero() && a.Sub(b).Abs() <= clockTick }

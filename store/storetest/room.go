// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"

	"varve.dev/zarr/store"
)

// checkRoom checks that a store tells how much room it has, also below a directory that
// does not exist, or says that it does not know.
func checkRoom(p *probe) {
	for _, dir := range []store.Path{{}, store.MustKey("new/deep/x").Dir()} {
		room, err := store.DirectoriesOf(p.s).Room(dir)
		switch {
		case err != nil && !errors.Is(err, store.ErrUnsupported):
			p.errorf("Room(%q): %v", dir, err)
		case err == nil && room.Free < 0:
			p.errorf("Room(%q) has %d bytes", dir, room.Free)
		}
	}
	for e, err := range store.List(p.ctx, p.s, store.Path{}, store.Deep) {
		if err == nil {
			p.errorf("Room has made %s", e.Name)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package store

// Room says how much more a store can take. It is about one moment: other programs write,
// too.
type Room struct {
	// Free is the number of bytes that this program may still store.
	Free int64
	// Plain is set if every stored byte takes one of them: the store neither compresses
	// values nor shares bytes between their copies. Links take none in any case.
	Plain bool
}

// Gauge is a store that knows how much more it can take, such as a directory of files.
type Gauge interface {
	// Room returns how much values below dir may take, which need not exist yet. If that
	// is not known, the error is [ErrUnsupported].
	Room(dir Path) (Room, error)
}

// RoomOf returns how much values below dir may take. If s is not a [Gauge], the error is
// [ErrUnsupported].
func RoomOf(s Store, dir Path) (Room, error) {
	g, ok := As[Gauge](s)
	if !ok {
		return Room{}, unsupported(s, "tell how much room there is")
	}
	return g.Room(dir)
}

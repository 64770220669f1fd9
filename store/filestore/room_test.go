// SPDX-License-Identifier: Apache-2.0

package filestore_test

import (
	"errors"
	"runtime"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// TestRoom asks for the room of a directory, and of one that does not exist yet.
func TestRoom(t *testing.T) {
	s, err := filestore.OpenStore(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, dir := range []store.Path{{}, store.MustKey("new/deep/x").Dir()} {
		room, err := store.DirectoriesOf(s).Room(dir)
		switch runtime.GOOS {
		case "linux", "darwin", "freebsd", "windows":
			if err != nil || room.Free <= 0 {
				t.Errorf("%q: %+v (%v)", dir, room, err)
			}
		default:
			if err != nil && !errors.Is(err, store.ErrUnsupported) {
				t.Errorf("%q: %v", dir, err)
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package filestore

// Store is the store that Open returns.
type Store = files

// On is on, for the tests of package filestore_test.
var On = on

// OpenStore is [Open].
func OpenStore(dir string, opt *Options) (*Store, error) {
	s, err := Open(dir, opt)
	if err != nil {
		return nil, err
	}
	return s.(*files), nil
}

// SetShortPart sets the bytes of the longest part that is read into memory, until the
// test ends. With -1, all parts are copied by the file system.
func SetShortPart(t interface{ Cleanup(func()) }, n int64) {
	was := shortPart
	t.Cleanup(func() { shortPart = was })
	shortPart = n
}

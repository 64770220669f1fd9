// SPDX-License-Identifier: Apache-2.0

package input

import (
	"bytes"
	"fmt"
	"io"

	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/dtype"
)

// MagicNPY begins every .npy file.
const MagicNPY = "\x93NUMPY"

// PeekNPY reports whether the bytes that follow begin as a .npy file does. They can still
// be read. It waits for no more of a stream than it takes to tell.
func (v *Values) PeekNPY() (bool, error) {
	seen := make([]byte, 0, len(MagicNPY))
	for len(seen) < len(MagicNPY) && MagicNPY[:len(seen)] == string(seen) {
		n, err := v.Reader.Read(seen[len(seen):cap(seen)])
		seen = seen[:len(seen)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, fmt.Errorf("read %s: %w", v.Name, err)
		}
	}
	if s, ok := v.Reader.(io.Seeker); ok { // a file stays one, which tells its length
		if _, err := s.Seek(-int64(len(seen)), io.SeekCurrent); err != nil {
			return false, fmt.Errorf("read %s: %w", v.Name, err)
		}
	} else {
		v.Reader = io.MultiReader(bytes.NewReader(seen), v.Reader)
	}
	return MagicNPY == string(seen), nil
}

// openRaw begins to read bytes that have no header. A .npy file without --format is read
// as what it is, whatever it is called: taken for raw data, its header would become
// values.
func (v *Values) openRaw(named bool) (err error) {
	if v.npy, err = v.PeekNPY(); err != nil {
		return err
	}
	if v.npy && !named {
		return v.OpenNPY()
	}
	v.swapped = !dtype.LittleEndian()
	return format.CheckOneLength(v.Type, format.Raw)
}

// RawNPY says of a .npy file that is read as raw data that it is one.
func (v *Values) RawNPY() string {
	if !v.npy {
		return ""
	}
	return " (it is a .npy file: without --format raw it is read as one)"
}

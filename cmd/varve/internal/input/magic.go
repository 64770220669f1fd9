// SPDX-License-Identifier: Apache-2.0

package input

import (
	"bytes"
	"fmt"
	"io"

	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/dtype"
)

// magicNPY is the beginning of every .npy file.
const magicNPY = "\x93NUMPY"

// peekNPY reports whether the next bytes are the beginning of a .npy file. The bytes are
// not consumed. It reads no more of a stream than necessary.
func (v *Values) peekNPY() (bool, error) {
	seen := make([]byte, 0, len(magicNPY))
	for len(seen) < len(magicNPY) && magicNPY[:len(seen)] == string(seen) {
		n, err := v.Reader.Read(seen[len(seen):cap(seen)])
		seen = seen[:len(seen)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, fmt.Errorf("read %s: %w", v.Name, err)
		}
	}
	if s, ok := v.Reader.(io.Seeker); ok { // keep the file, because its length is known
		if _, err := s.Seek(-int64(len(seen)), io.SeekCurrent); err != nil {
			return false, fmt.Errorf("read %s: %w", v.Name, err)
		}
	} else {
		v.Reader = io.MultiReader(bytes.NewReader(seen), v.Reader)
	}
	return magicNPY == string(seen), nil
}

// openRaw starts to read bytes without a header. A .npy file without --format is read as
// such, whatever its name is: as raw data, its header would become values.
func (v *Values) openRaw(named bool) (err error) {
	if v.npy, err = v.peekNPY(); err != nil {
		return err
	}
	if v.npy && !named {
		return v.OpenNPY()
	}
	v.swapped = !dtype.LittleEndian()
	return format.CheckOneLength(v.Type, format.Raw)
}

// RawNPY returns a note if raw data is a .npy file, or "".
func (v *Values) RawNPY() string {
	if !v.npy {
		return ""
	}
	return " (it is a .npy file; omit --format raw to read it as one)"
}

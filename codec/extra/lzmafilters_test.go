// SPDX-License-Identifier: Apache-2.0

package extra

import (
	"errors"
	"testing"

	"varve.dev/zarr/codec"
)

func TestConfigurations(t *testing.T) {
	for _, c := range []struct {
		configuration string
		ok            bool
	}{
		{`{}`, true}, {`{"format": 1, "check": -1, "preset": null, "filters": null}`, true},
		{`{"preset": 9}`, true}, {`{"preset": 2147483654}`, true}, {`{"preset": 10}`, false},
		{`{"preset": -1}`, false}, {`{"format": 0}`, false}, {`{"format": 4}`, false},
		{`{"format": 3}`, false}, {`{"format": 2, "check": 4}`, false}, {`{"check": 2}`, false},
		{`{"check": 10}`, true}, {`{"preset": 1, "filters": [{"id": 33}]}`, false}, {`{"filters": []}`, false},
		{`{"filters": [{"id": 33}, {"id": 33}]}`, false}, {`{"filters": [{"id": 3}]}`, false},
		{`{"filters": [{"id": 3, "dist": 256}, {"id": 33}]}`, true}, {`{"filters": [{"id": 3, "dist": 257}, {"id": 33}]}`, false},
		{`{"filters": [{"id": 3, "dist": 0}, {"id": 33}]}`, false}, {`{"filters": [{"id": 3, "x": 0}, {"id": 33}]}`, false},
		{`{"filters": [{"id": 33, "lc": 3, "lp": 2}]}`, false}, {`{"filters": [{"id": 33, "lc": -1}]}`, false},
		{`{"filters": [{"id": 33, "dict_size": 99999999999}]}`, false}, {`{"filters": [{"id": 33, "preset": 11}]}`, false},
		{`{"filters": [{"id": 33, "mode": 2, "nice_len": 64, "mf": 20, "depth": 1}]}`, true},
		{`{"filters": [{"id": 4611686018427387905}]}`, false}, {`{"format": 2, "filters": [{"id": 33}]}`, false},
		{`{"format": 2, "filters": [{"id": 3}, {"id": 4611686018427387905}]}`, false},
		{`{"filters": [33]}`, false}, {`{"filters": [{}]}`, false}, {`{"filters": [{"id": 99}, {"id": 33}]}`, false},
		{`{"filters": {"id": 33}}`, false}, {`{"level": 1}`, false},
	} {
		_, err := codec.Default.New(lzmaOf(c.configuration))
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("%s: %v", c.configuration, err)
		}
	}
}

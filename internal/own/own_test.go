// SPDX-License-Identifier: Apache-2.0

package own

import "testing"

func TestNames(t *testing.T) {
	for name, want := range map[string][2]bool{ // ours, reserved
		"__varve": {true, true}, "__varve.lock": {true, true}, "__varve.publish": {true, true},
		"__tmp-": {true, true}, "__tmp-1": {true, true},
		"__varve2": {false, true}, "__varve.locks": {false, true}, "__tmp": {false, true},
		"__categories": {false, true}, "__": {false, true},
		"_varve": {}, "a__varve": {}, "": {}, "varve": {}, "c": {},
	} {
		if got := [2]bool{Is(name), Reserved(name)}; got != want {
			t.Errorf("%q is %v, want %v", name, got, want)
		}
	}
}

func TestIsBelow(t *testing.T) {
	for key, want := range map[string]bool{
		"__varve/a": true, "a/__varve/b/c": true,
		"__varve": false, "a/__varve": false, "a__varve/b": false, "__varve2/a": false, "": false,
	} {
		if got := IsBelow(key); got != want {
			t.Errorf("%q is %v, want %v", key, got, want)
		}
	}
}

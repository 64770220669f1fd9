// SPDX-License-Identifier: Apache-2.0

package checking

import (
	"errors"
	"strings"
	"testing"

	"varve.dev/zarr/check"
)

// TestCheckVerdictUnread has a verdict about a coordinate that could not be read.
func TestCheckVerdictUnread(t *testing.T) {
	err := newFindings("x", &check.Array{Err: errors.New("no answer")}, nil).verdict()
	if err == nil || !strings.Contains(err.Error(), "could not be read") {
		t.Error(err)
	}
	if err := newFindings("x", &check.Array{}, nil).verdict(); err != nil {
		t.Error(err)
	}
}

// TestCheckDiffer names the group whose arrays differ in length.
func TestCheckDiffer(t *testing.T) {
	g := newGroupFindings("x", &check.Report{Findings: []check.Finding{{Kind: "dimensions", Path: "sub", Message: "t differs"}}}, nil)
	if f := g.Findings[0]; g.Differ[0] != "sub: t differs" || f.Path != "x" || f.Message != "sub: t differs" {
		t.Errorf("%q, %+v", g.Differ, f)
	}
}

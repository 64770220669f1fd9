// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestTruths stores booleans of NetCDF, which are int8 with an attribute, in an array of
// booleans. 0 and 1 are taken, and anything else is refused with its index.
func TestTruths(t *testing.T) {
	dir := t.TempDir()
	source := func(name, values, attributes string) string {
		must(t, "", "create", dir+"/"+name+".zarr/m", "--shape", "2,3", "--dimension-names", "t,x", "--dtype", "int8", "--chunks", "1,2", "--attributes", attributes)
		must(t, values, "write", dir+"/"+name+".zarr/m", "--format", "json", "-")
		return dir + "/" + name + ".zarr"
	}
	truths := source("truths", "[[1,0,1],[0,0,1]]", `{"dtype": "bool"}`)
	others := source("others", "[[1,0,1],[0,2,1]]", `{"dtype": "bool"}`)
	numbers := source("numbers", "[[1,0,1],[0,0,1]]", `{}`)
	must(t, "", "create", dir+"/g.zarr/m", "--shape", "2,3", "--dimension-names", "t,x", "--dtype", "bool", "--chunks", "2,3")
	m := dir + "/g.zarr/m"
	must(t, "", "append", m, truths+"/m")
	must(t, "", "insert", m, "--axis", "0", "--at", "0", truths+"/m")
	must(t, "", "write", m, "--select", "0:2", truths+"/m")
	must(t, "", "append", dir+"/g.zarr", truths)
	before := must(t, "", "export", m, "--format", "json")
	pair := "[true,false,true],[false,false,true],"
	if got := strings.Join(strings.Fields(before), ""); got != "["+pair+"[false,false,false],[false,false,false],"+strings.TrimSuffix(pair+pair, ",")+"]" {
		t.Error(got)
	}
	for _, args := range [][]string{{"append", m}, {"insert", m, "--axis", "0", "--at", "0"}, {"write", m, "--select", "0:2"}} {
		_, errs, status := execute(t, "", append(args, others+"/m")...)
		if status != 1 || !strings.Contains(errs, "element [1 1]: 2 is no boolean: only 0 and 1 are") {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
		if _, errs, status = execute(t, "", append(args, numbers+"/m")...); status != 1 || !strings.Contains(errs, "has elements of type int8, the array bool") {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
	}
	if got := must(t, "", "export", m, "--format", "json"); got != before {
		t.Errorf("a refusal has changed the array: %s", got)
	}
}

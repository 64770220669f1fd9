// SPDX-License-Identifier: Apache-2.0

package conventions

import "testing"

// table is right by anndata: 4 observations of 3 variables.
const table = `
/ group {"encoding-type": "anndata", "encoding-version": "0.1.0"}
/obs group {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "id", "column-order": ["kind", "n", "maybe"]}
/obs/id group {"encoding-type": "nullable-string-array", "encoding-version": "0.1.0"}
/obs/id/values string 4 -
/obs/id/mask bool 4 -
/obs/n int64 4 - {"encoding-type": "array", "encoding-version": "0.2.0"}
/obs/maybe group {"encoding-type": "nullable-integer", "encoding-version": "0.1.0"}
/obs/maybe/values int64 4 -
/obs/maybe/mask bool 4 -
/obs/kind group {"encoding-type": "categorical", "encoding-version": "0.2.0", "ordered": false}
/obs/kind/codes int32 4 - {"encoding-type": "array", "encoding-version": "0.2.0"}
/obs/kind/categories string 2 -
/var group {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "name", "column-order": []}
/var/name string 3 -
/X group {"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": [4, 3]}
/X/data float32 5 -
/X/indices int32 5 -
/X/indptr int32 5 -
/layers group {"encoding-type": "dict", "encoding-version": "0.1.0"}
/layers/raw group {"encoding-type": "csc_matrix", "encoding-version": "0.1.0", "shape": [4, 3]}
/layers/raw/data float32 2 -
/layers/raw/indices int32 2 -
/layers/raw/indptr int32 4 -
/obsm group {"encoding-type": "dict", "encoding-version": "0.1.0"}
/obsm/pca float32 4,2 -
/varp group {"encoding-type": "dict", "encoding-version": "0.1.0"}
/varp/links float32 3,3 -
/uns group {"encoding-type": "dict", "encoding-version": "0.1.0"}
/uns/new group {"encoding-type": "of-the-future", "encoding-version": "9"}
`

func TestAnndata(t *testing.T) {
	cases{
		{rule: "encoding", broken: `/obs/n int64 4 - {"encoding-type": "array"}`, right: `/obs/n int64 4 -`},
		{rule: "encoding", broken: `/obs/n int64 4 - {"encoding-type": "array", "encoding-version": 0.2}`},
		{rule: "kind", broken: `/uns/a float32 4 - {"encoding-type": "dataframe", "encoding-version": "0.2.0"}`},
		{rule: "kind", broken: `/uns/a group {"encoding-type": "array", "encoding-version": "0.2.0"}`},
		{rule: "frames", broken: `/var group {"encoding-type": "dict", "encoding-version": "0.1.0"}`, right: `/var/extra int8 3 -`},
		{rule: "index", broken: `/var group {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "gone", "column-order": []}`},
		{rule: "index", broken: `/var group {"encoding-type": "dataframe", "encoding-version": "0.2.0", "column-order": []}`},
		{rule: "columns", broken: `/var group {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "name", "column-order": ["gone"]}`, right: `/var group {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "name", "column-order": ["name"]}`},
		{rule: "columns", broken: `/var group {"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "name"}`},
		{rule: "rows", broken: `/obs/n int64 5 -`},
		{rule: "rows", broken: `/obs/kind/codes int32 3 -`},
		{rule: "shape", broken: `/X group {"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": [4, 2]}`, right: `/X/data float32 0 -
			/X/indices int32 0 -`},
		{rule: "shape", broken: `/obsm/pca float32 3,2 -`, right: `/obsm/pca float32 4,2,7 -`},
		{rule: "shape", broken: `/varp/links float32 3,4 -`},
		{rule: "shape", broken: `/layers/more float32 4 -`, right: `/layers/more float32 4,3 -`},
		{rule: "sparse", broken: `/X/indptr int32 4 -`},
		{rule: "sparse", broken: `/layers/raw/indptr int32 5 -`},
		{rule: "sparse", broken: `/X/indices int32 4 -`},
		{rule: "sparse", broken: `/X/indices group`},
		{rule: "categories", broken: `/obs/kind group {"encoding-type": "categorical", "encoding-version": "0.2.0"}`},
		{rule: "categories", broken: `/obs/kind/codes float32 4 -`},
		{rule: "categories", broken: `/obs/kind/categories none`},
		{rule: "codes", broken: `/uns group`, values: map[string][]int32{"obs/kind/codes": {0, 1, 2, 0}}},
		{rule: "codes", broken: `/uns group`, values: map[string][]int32{"obs/kind/codes": {0, 1, -2, 0}}},
		{rule: "mask", broken: `/obs/maybe/mask uint8 4 -`},
		{rule: "mask", broken: `/obs/maybe/mask bool 3 -`},
	}.run(t, "anndata", table, 3)
	if kinds, said := kindsOf(t, Names(), 3, parse(t, table), map[string][]int32{"obs/kind/codes": {0, 1, -1, 0}}); kinds != nil {
		t.Errorf("a missing category: %s", said)
	}
}

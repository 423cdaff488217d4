package report

import (
	"bytes"
	"testing"
)

type csvPart struct {
	Depth int64 `json:"depth"`
}

type csvRow struct {
	Name    string  `json:"name"`
	Ratio   float64 `json:"ratio,omitempty"`
	Skipped []int   `json:"skipped"`
	csvPart
	Last bool `json:"last"`
}

func TestCSVHasAColumnForEachFigure(t *testing.T) {
	rows := []csvRow{
		{Name: "a,b", Ratio: 1.25, Skipped: []int{1}, csvPart: csvPart{7}, Last: true},
		{Name: `"c"`},
	}
	want := "name,ratio,depth,last\n\"a,b\",1.25,7,true\n\"\"\"c\"\"\",0,0,false\n"
	var got bytes.Buffer
	if err := WriteCSV(&got, rows); err != nil || got.String() != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, &got, want)
	}
}

module github.com/etgo-ml/etgo/testdata

go 1.26

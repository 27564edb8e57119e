module github.com/callgate/callgate/bindings/go

go 1.19

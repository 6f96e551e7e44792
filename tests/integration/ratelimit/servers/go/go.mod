module login

go 1.26

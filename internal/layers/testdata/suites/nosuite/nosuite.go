package nosuite
